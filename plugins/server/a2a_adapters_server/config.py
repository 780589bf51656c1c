"""`a2a-adapters config`: shows the effective settings and their origins."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from a2a_adapters.cli.options import OutputForm, Verbose
from a2a_adapters.cli.terminal import echo, one_line
from a2a_adapters.contract.plugins import installed_plugins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_adapters_server.sources import Sources

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        envvar="A2A_ADAPTERS_CONFIG",
        help="The settings; by default a2a-adapters.toml, pyproject.toml or langgraph.json.",
    ),
]
"""The configuration file."""

config = typer.Typer(help="Show the effective settings, as `config show` does.")


@config.callback(invoke_without_command=True)
def _options(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        show()


@config.command()
def show(config: ConfigFile = None, output: OutputForm = "text", _verbose: Verbose = False) -> None:
    """Print the settings of `serve` in this folder as a TOML file, with the origin of each line.

    The comments at the end are the settings of `send` and the other client commands.

    Examples:
      a2a-adapters config show
      A2A_ADAPTERS_PORT=9000 a2a-adapters config show -o json
    """
    from a2a_adapters_server.sources import gather  # noqa: PLC0415 - as in `serve`

    sources = gather({}, config)
    content = sources.settings().model_dump()
    if output == "json":
        _print_json(content, sources)
    else:
        _print(content, sources)


def _print_json(content: dict[str, Any], sources: Sources) -> None:
    """Print the name, value (without passwords) and origin of each setting."""
    settings = [
        {"name": ".".join(path), "value": _safe(value), "origin": sources.origin(".".join(path))}
        for path, value in _leaves(content)
    ]
    variables = [
        {"name": name, "value": value, "origin": origin}
        for name, value, origin in installed_plugins().settings()
    ]
    echo(json.dumps([*settings, *variables], indent=2, ensure_ascii=False))


def _leaves(table: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        elif value is not None:
            yield (*path, key), value


def _print(content: dict[str, Any], sources: Sources) -> None:
    lines = list(_lines(content, sources))
    width = max(len(line) for line, _ in lines)
    for line, origin in lines:
        echo(f"{line:{width}}  # {origin}" if origin else line)
    for name, value, origin in installed_plugins().settings():
        echo(one_line(f"# {name}={value}  ({origin})"))


def _lines(
    table: dict[str, Any], sources: Sources, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the lines of a table, keys before nested tables, without unset keys."""
    tables = {key: value for key, value in table.items() if isinstance(value, dict)}
    for key, value in table.items():
        if value is not None and key not in tables:
            yield f"{key} = {_shown(value)}", sources.origin(".".join((*path, key)))
    for key, value in tables.items():
        if any(each is not None and not isinstance(each, dict) for each in value.values()):
            yield "", ""
            yield f"[{'.'.join(map(_quoted, (*path, key)))}]", ""
        yield from _lines(value, sources, (*path, key))


def _quoted(key: str) -> str:
    """Return a key in TOML syntax."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _shown(value: object) -> str:
    """Return a value in TOML syntax, which for strings and numbers equals JSON."""
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        said = [
            f"{_quoted(key)} = {_shown(each)}" for key, each in value.items() if each is not None
        ]
        return f"{{ {', '.join(said)} }}"
    return "inf" if value == math.inf else json.dumps(_safe(value), ensure_ascii=False)


def _safe(value: object) -> object:
    """Return a value for JSON, without passwords."""
    if isinstance(value, PurePath):
        value = str(value)
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if isinstance(value, str) and (password := _password(value)):
        value = value.replace(f":{password}@", ":***@")
    if isinstance(value, str):
        value = re.sub(r"(?i)(password=)[^&]*", r"\1***", value)
    return value


def _password(url: str) -> str | None:
    try:
        return urlsplit(url).password
    except ValueError:
        return None
