"""Reads configuration files: a2a-adapters.toml, pyproject.toml and langgraph.json."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dotenv import dotenv_values

from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

Content = dict[str, Any]
"""Keys and tables of TOML."""

_PATHS = ("bearer_token_file", "api_key_file", "card_key")


def read_file(file: Path | None, *, needs_target: bool) -> tuple[Path, Content] | None:
    """Read a configuration file, by default one of the current folder; None if there is none.

    Args:
        file: The file.
        needs_target: Whether the target is not given otherwise; if it is, langgraph.json is not
            read, because it contains nothing else.

    Raises:
        ConfigurationError: The file cannot be read or parsed.
    """
    if file is not None:
        return file.resolve(), _read(file)
    for name in ("a2a-adapters.toml", "pyproject.toml", "langgraph.json"):
        found = Path.cwd() / name
        if found.is_file() and (needs_target or found.suffix == ".toml") and (said := _read(found)):
            return found, said
    return None


def _read(file: Path) -> Content:
    read = _FORMATS.get(file.name) or _FORMATS.get(file.suffix)
    if read is None:
        raise ConfigurationError(f"{file} is neither a .toml file nor a langgraph.json")
    try:
        return read(file)
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}") from error
    except ConfigurationError:
        raise
    except ValueError as error:  # invalid TOML, JSON or UTF-8
        raise ConfigurationError(f"{file} is invalid: {error}") from error


def _read_toml(file: Path) -> Content:
    return _beside(file, tomllib.loads(file.read_text("utf-8-sig")))


def _read_pyproject(file: Path) -> Content:
    content = tomllib.loads(file.read_text("utf-8-sig"))
    tools = content.get("tool", {})
    said = tools.get("a2a-adapters", {}) if isinstance(tools, dict) else {}
    if not isinstance(said, dict):
        raise ConfigurationError(f"{file}: tool.a2a-adapters is not a table")
    return _beside(file, said)


def _beside(file: Path, content: Content) -> Content:
    """Resolve the paths in a file relative to its folder."""
    paths = {key: content[key] for key in _PATHS if isinstance(content.get(key), str)}
    found = content | {key: str(file.parent / path) for key, path in paths.items()}
    if "target" in found:
        found["target"] = _placed(found["target"], file)
    if isinstance(agents := found.get("agents"), dict):
        found["agents"] = {name: _placed_agent(agent, file) for name, agent in agents.items()}
    return found


def _placed_agent(agent: object, file: Path) -> object:
    if isinstance(agent, dict) and "target" in agent:
        return agent | {"target": _placed(agent["target"], file)}
    return _placed(agent, file)


def _placed(target: object, file: Path) -> object:
    """Resolve `FILE.py:ATTRIBUTE` relative to a file; modules are searched in its folder anyway."""
    if not isinstance(target, str):
        return target
    source, _, attribute = target.rpartition(":")
    return f"{file.parent / source}:{attribute}" if source.endswith(".py") else target


def _read_langgraph(file: Path) -> Content:
    """Read the graphs of a LangGraph project.

    See https://docs.langchain.com/langsmith/cli#configuration-file
    """
    content = json.loads(file.read_text("utf-8-sig"))
    graphs = content.get("graphs") if isinstance(content, dict) else None
    if not isinstance(graphs, dict) or not graphs:
        raise ConfigurationError(f"{file} names no graphs")
    _set_environment(content.get("env"), file)
    return {"agents": {name: _agent(graph, file) for name, graph in graphs.items()}}


def _agent(graph: object, file: Path) -> Content:
    about = graph if isinstance(graph, dict) else {"path": graph}
    path = about.get("path")
    if not isinstance(path, str):
        raise ConfigurationError(f"{file}: a graph must be a path such as ./agent.py:graph")
    said = {"target": _placed(path, file), "description": about.get("description")}
    return {key: value for key, value in said.items() if value is not None}


def _set_environment(env: object, file: Path) -> None:
    """Set the given variables, or those of the given file, unless they are already set."""
    if isinstance(env, str):
        env = dotenv_values(file.parent / env)
    for name, value in env.items() if isinstance(env, dict) else ():
        if value is not None:
            os.environ.setdefault(name, str(value))


_FORMATS: dict[str, Callable[[Path], Content]] = {
    "pyproject.toml": _read_pyproject,
    ".toml": _read_toml,
    "langgraph.json": _read_langgraph,
}
