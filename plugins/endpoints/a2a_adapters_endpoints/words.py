"""Parses options in command-line words such as `exec:--seconds 60 wc -w`."""

from __future__ import annotations

import argparse
import math
import os
import shlex
from typing import NoReturn

from a2a_adapters import ConfigurationError


class WordParser(argparse.ArgumentParser):
    """Parses the text after a word's colon, split like a shell does.

    Args:
        kind: The text before the colon.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(prog=f"{kind}:", allow_abbrev=False)
        self._kind = kind

    def read(self, word: str) -> argparse.Namespace:
        """Return a word's options.

        Raises:
            ConfigurationError: The text is invalid.
        """
        try:
            return self.parse_args(shlex.split(word))
        except ValueError as error:
            raise ConfigurationError(f"{self._kind}: {word!r} is no command: {error}") from error

    def error(self, message: str) -> NoReturn:
        """Raise an error instead of exiting."""
        hint = f"for the options: serve '{self._kind}:--help'"
        raise ConfigurationError(f"{self._kind}: {message}; {hint}")


def checked_seconds(seconds: float) -> float:
    """Return a time limit.

    Raises:
        ConfigurationError: The value is infinite.
    """
    if seconds == math.inf:
        raise ConfigurationError("seconds must be finite")
    return seconds


def token_of(name: str | None) -> str | None:
    """Return the token from an environment variable.

    Raises:
        ConfigurationError: The variable is not set.
    """
    if name is None:
        return None
    if not (token := os.environ.get(name)):
        raise ConfigurationError(f"the environment variable {name} with the token is not set")
    return token
