"""`a2a-adapters call`: talk to an agent from the terminal."""

from __future__ import annotations

import json
import mimetypes
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters.cli.addresses import as_url
from a2a_adapters.cli.options import Verbose
from a2a_adapters.errors import ConfigurationError
from a2a_adapters.parts import Data, File, Part, Text

if TYPE_CHECKING:
    from collections.abc import Sequence


def call(
    url: Annotated[str, typer.Argument(help="The agent's URL, or its card's.")],
    text: Annotated[
        str, typer.Argument(help="What to say; by default, and by -, what is piped in.")
    ] = "",
    stream: Annotated[bool, typer.Option(help="Print the answer as it comes.")] = True,
    context: Annotated[str, typer.Option(help="The conversation to go on with.")] = "",
    task: Annotated[str, typer.Option(help="The task whose question this answers.")] = "",
    file: Annotated[list[Path] | None, typer.Option(help="A file to send along.")] = None,
    data: Annotated[list[str] | None, typer.Option(help="JSON to send along.")] = None,
    header: Annotated[
        list[str] | None, typer.Option(help="A header to send, as in 'X-API-Key: secret'.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="The folder to save files of the answer in.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole answer as JSON.")
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="How many seconds the answer may take.")
    ] = 900,
    _verbose: Verbose = False,
) -> None:
    """Send a message to an agent and print its answer."""
    if save is not None and save.exists() and not save.is_dir():
        raise ConfigurationError(f"{save} is no folder")
    # The client costs a second that --help need not wait.
    from a2a_adapters.cli.answer import AnswerPrinter  # noqa: PLC0415
    from a2a_adapters.cli.conversation import converse, make_agent  # noqa: PLC0415

    converse(
        make_agent(as_url(url), read_headers(header or []), timeout),
        _parts(text, file or [], data or []),
        AnswerPrinter(stream=stream, as_json=as_json, folder=save),
        context_id=context,
        task_id=task,
    )


def _parts(text: str, files: Sequence[Path], data: Sequence[str]) -> list[Part]:
    parts: list[Part] = []
    is_piped = not (text or files or data) and not sys.stdin.isatty()
    if said := _standard_input() if is_piped or text == "-" else text:
        parts.append(Text(said))
    parts.extend(map(read_file, files))
    for value in data:
        try:
            parts.append(Data(json.loads(value)))
        except ValueError as error:
            raise ConfigurationError(f"--data {value!r} is not JSON: {error}") from error
        except RecursionError as error:
            raise ConfigurationError("--data is nested too deeply") from error
    if not parts:
        raise ConfigurationError("nothing to say: give a text, --file or --data")
    return parts


def read_file(path: Path) -> File:
    """Return a file to send.

    Raises:
        ConfigurationError: It cannot be read.
    """
    media_type, _ = mimetypes.guess_type(path.name)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    media_type = media_type or "application/octet-stream"
    return File(content=content, media_type=media_type, filename=path.name)


def _standard_input() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise ConfigurationError("standard input is not text; send it by --file") from error


def read_headers(lines: Sequence[str]) -> dict[str, str]:
    """Return headers from lines as in HTTP.

    Raises:
        ConfigurationError: A line is none.
    """
    headers = {}
    for line in lines:
        name, separator, value = line.partition(":")
        if not separator or not name.strip():
            raise ConfigurationError("--header is of the form 'Name: value'")
        headers[name.strip()] = value.strip()
    return headers
