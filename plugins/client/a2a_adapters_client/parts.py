"""Parts of a message in command line order (a2a-cli 0.2, section 10.2)."""

from __future__ import annotations

import json
import mimetypes
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.parts import Data, File, Part, Text
from a2a_adapters_client.command import ClientCommand

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ORDER = "a2a_adapters.contract.parts"
_FLAGS = {"text", "file", "data", "media_type"}


class MessageCommand(ClientCommand):
    """A command that records the order of the part flags."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        given = list(args)
        rest = super().parse_args(ctx, args)
        options, _, order = self.make_parser(ctx).parse_args(args=given)
        values = {name: iter(options.get(name) or ()) for name in _FLAGS}
        ctx.meta[_ORDER] = [
            (each.name, next(values[each.name])) for each in order if each.name in _FLAGS
        ]
        return rest


def typed_parts(context: Any) -> list[tuple[str, str]]:
    """Return the part flags and their values in order."""
    found: list[tuple[str, str]] = context.meta[_ORDER]
    return found


def read_parts(words: Sequence[str], flags: Iterable[tuple[str, str]]) -> list[Part]:
    """Return the parts of a message: first the words, then the flags.

    Args:
        words: Texts; `-` reads standard input, as do no words and flags with piped input.
        flags: Flags and values from `typed_parts`.

    Raises:
        ConfigurationError: A file is unreadable, JSON is invalid, or there is no input.
    """
    parts: list[Part] = [Text(_standard_input() if word == "-" else word) for word in words]
    has_flag = False
    for flag, value in flags:
        if flag != "media_type":
            parts.append(_part(flag, value))
        elif not has_flag:
            raise ConfigurationError("--media-type must follow the part that it describes")
        else:
            parts[-1] = replace(parts[-1], media_type=value)
        has_flag = flag != "media_type"
    if not parts and not sys.stdin.isatty() and (said := _standard_input()):
        parts.append(Text(said))
    if all(isinstance(part, Text) and not part.text.strip() for part in parts):
        raise ConfigurationError("nothing to send: pass a text, --text, --file or --data")
    return parts


def _part(flag: str, value: str) -> Part:
    match flag:
        case "text":
            return Text(value)
        case "data":
            return Data(_json(value))
        case _ if value.startswith(("http://", "https://")):
            return File(url=value, media_type=_guessed(value))
        case _:
            return read_file(Path(value))


def read_file(path: Path) -> File:
    """Read a file to send.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    return File(content=content, media_type=_guessed(path.name), filename=path.name)


def _guessed(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def _json(value: str) -> Any:
    """Parse JSON from a file, standard input (`-`), or the argument itself."""
    text = value
    if value == "-":
        text = _standard_input()
    elif Path(value[:200]).is_file():
        text = read_text(Path(value))
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"--data {value!r} is neither a file nor JSON: {error}") from error
    except RecursionError as error:
        raise ConfigurationError("--data is nested too deeply") from error


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        ConfigurationError: The file cannot be read or is not text.
    """
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not text") from error


def _standard_input() -> str:
    try:
        text = sys.stdin.read()
        text.encode()  # detect invalid bytes accepted by Python
    except UnicodeError as error:
        raise ConfigurationError("standard input is not text; use --file") from error
    return text
