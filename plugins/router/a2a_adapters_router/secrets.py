"""Secrets in environment variables, referenced from files."""

from __future__ import annotations

import os
from typing import Any

from a2a_adapters import ConfigurationError

FROM_ENVIRONMENT = "os.environ/"
"""Prefix of references to environment variables, as in litellm's files."""

_SECRETS = ("key", "token", "secret", "password", "credentials", "authorization")
"""Suffixes of names of secrets."""


def resolved(value: Any) -> Any:
    """Return a setting with references replaced by the variables' values.

    Raises:
        ConfigurationError: A variable is not set.
    """
    match value:
        case dict():
            return {key: resolved(each) for key, each in value.items()}
        case list():
            return [resolved(each) for each in value]
        case str() if value.startswith(FROM_ENVIRONMENT):
            name = value.removeprefix(FROM_ENVIRONMENT)
            if not (found := os.environ.get(name)):
                raise ConfigurationError(f"the environment variable {name} is not set")
            return found
        case _:
            return value


def written_secret(name: str, value: object) -> str | None:
    """Return the name of a literal secret in a setting; None if it has none."""
    match value:
        case dict():
            return next(filter(None, (written_secret(str(k), v) for k, v in value.items())), None)
        case list():
            return next(filter(None, (written_secret(name, each) for each in value)), None)
        case _:
            is_secret = name.lower().endswith(_SECRETS)
            return name if is_secret and not str(value).startswith(FROM_ENVIRONMENT) else None
