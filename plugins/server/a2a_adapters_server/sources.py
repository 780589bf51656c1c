"""Merges a server's settings from the command line, the environment and a file, in this order."""

from __future__ import annotations

import json
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from dotenv import dotenv_values
from pydantic import BaseModel, TypeAdapter, ValidationError

from a2a_adapters.cli.options import suggestion
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_server.platforms import platform
from a2a_adapters_server.settings import LimitsTable, PushTable, ServerSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic_core import ErrorDetails

Content = dict[str, Any]
"""Keys and tables of TOML."""

COMMAND_LINE = "the command line"
DEFAULT = "default"

_PREFIX = "A2A_ADAPTERS_"
_PLATFORM_PORT = "PORT"
"""The variable in which Cloud Run, Heroku and others say where to listen."""
_TABLES: dict[str, Any] = {"limits": LimitsTable, "push": PushTable}
_TARGETS = {"target", "agents"}
_ABOUT = {"name", "description", "card"}
"""Keys that describe a file's single target."""


@dataclass
class Sources:
    """Merged settings and their origins.

    Attributes:
        content: The keys and tables.
        origins: The origin of each key, as in `{"limits.runs": "a2a-adapters.toml"}`.
        folder: The folder of the file, in which its targets are searched.
    """

    content: Content = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None

    def add(self, content: Content, origin: str | None = None) -> None:
        """Override settings; without `origin` they come from environment variables."""
        self.content = _merged(self.content, content)
        self.origins |= {key: origin or _variable(key) for key in _keys(content)}

    def add_below(self, content: Content, origin: str) -> None:
        """Set settings that have no value yet."""
        self.origins = dict.fromkeys(_keys(content), origin) | self.origins
        self.content = _merged(content, self.content)

    def settings(self) -> ServerSettings:
        """Validate the settings.

        Raises:
            ConfigurationError: Lists unknown settings and invalid values, one per line.
        """
        try:
            return ServerSettings.model_validate(self.content)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)
            raise ConfigurationError("\n".join(map(self._explained, wrong))) from None

    def origin(self, key: str) -> str:
        """Return the origin of a key, or of its whole table."""
        return self.origins.get(key) or self.origins.get(key.rpartition(".")[0], DEFAULT)

    def _explained(self, wrong: ErrorDetails) -> str:
        key = ".".join(map(str, wrong["loc"]))
        reason = wrong["msg"].removeprefix("Value error, ")
        if wrong["type"] == "extra_forbidden":
            known = sorted(_fields(ServerSettings, wrong["loc"][:-1]))
            reason = f"there is no such setting; {suggestion(str(wrong['loc'][-1]), known)}"
        return f"{self._source(key)}: {key}: {reason}"

    def _source(self, key: str) -> str:
        """Return the origin of a key, or of another key in its table."""
        table = key.rpartition(".")[0]
        near = (origin for k, origin in self.origins.items() if k.startswith((f"{table}.", key)))
        return self.origins.get(key) or next(near, DEFAULT)


def gather(
    given: Content, file: Path | None = None, environment: Mapping[str, str] = os.environ
) -> Sources:
    """Merge the settings of a file, the environment and the command line.

    Args:
        given: The settings of the command line, as keys and tables of `ServerSettings`.
        file: The file to read instead of one in the current folder.
        environment: Variables such as `A2A_ADAPTERS_PORT` and `A2A_ADAPTERS_LIMITS_RUNS`; and
            `PORT`, which has the lowest precedence.

    Raises:
        ConfigurationError: The file cannot be read, a variable is invalid, or there is no such
            platform.
    """
    sources = Sources()
    variables = _from(environment)
    if given.keys() & _TARGETS:
        variables = _without(variables, _TARGETS)
    has_target = (given | variables).keys() & _TARGETS
    found = read_file(file, needs_target=not has_target)
    if found is not None:
        path, content = found
        sources.folder = path.parent
        content = _without(content, _TARGETS | _ABOUT) if has_target else content
        sources.add(content, path.name if path.parent == Path.cwd() else str(path))
    sources.add(variables)
    sources.add(given, COMMAND_LINE)
    if name := sources.content.get("platform"):
        sources.add_below(dict(platform(name).settings(environment)), f"the platform {name}")
    if port := environment.get(_PLATFORM_PORT):
        sources.add_below({"port": port}, _PLATFORM_PORT)
    return sources


def _without(content: Content, keys: set[str]) -> Content:
    return {key: value for key, value in content.items() if key not in keys}


def _from(environment: Mapping[str, str]) -> Content:
    settings: Content = {
        key: environment[_variable(key)]
        for key in ServerSettings.model_fields
        if key not in {"agents", "card", *_TABLES} and environment.get(_variable(key))
    }
    if str(settings.get("port", "")).startswith("tcp://"):
        del settings["port"]  # Kubernetes names the address of a Service `a2a-adapters` so
    for table in _TABLES:
        prefix = f"{_variable(table)}_"
        content = {
            variable.removeprefix(prefix).lower(): value
            for variable, value in environment.items()
            if variable.startswith(prefix)
        }
        if content:
            settings[table] = content
    if push := environment.get(_variable("push")):
        settings["push"] = _as_bool(push) and settings.get("push", True)
    return settings


def _as_bool(value: str) -> bool:
    try:
        return TypeAdapter(bool).validate_python(value)
    except ValidationError:
        raise ConfigurationError(f"{_variable('push')} must be true or false") from None


def _variable(key: str) -> str:
    return _PREFIX + key.replace(".", "_").upper()


def _merged(below: Content, above: Content) -> Content:
    """Override settings; `True` for a table leaves it unchanged."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            merged[key] = _merged(under, value)
        elif not (isinstance(under, dict) and value is True):
            merged[key] = value
    return merged


def _keys(content: Content, prefix: str = "") -> Iterator[str]:
    for key, value in content.items():
        if isinstance(value, dict):
            yield from _keys(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _fields(table: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Return the keys of a nested table; all agents have the same keys."""
    for step in path:
        kind = table.model_fields.get(str(step))
        inner = [kind.annotation, *get_args(kind.annotation)] if kind else [table]
        tables = [each for each in inner if isinstance(each, type) and issubclass(each, BaseModel)]
        table = tables[0]
    return list(table.model_fields)


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
    """Resolve the paths in a file relative to its folder; leave the agents to call out."""
    paths = {key: content[key] for key in _PATHS if isinstance(content.get(key), str)}
    found = content | {key: str(file.parent / path) for key, path in paths.items()}
    found = _without(found, {"remote"})
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
