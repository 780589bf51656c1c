"""Where a server's settings come from: the command line, the environment, a file, in this order."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from a2a_adapters.cli.files import Content, read_file
from a2a_adapters.cli.options import nearest
from a2a_adapters.cli.settings import LimitsTable, PushTable, ServerSettings
from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic_core import ErrorDetails

COMMAND_LINE = "the command line"
DEFAULT = "default"

_PREFIX = "A2A_ADAPTERS_"
_TABLES: dict[str, Any] = {"limits": LimitsTable, "push": PushTable}
_WHAT = {"target", "agents"}
_WORDS = {"name", "description"}
"""What a file says of its only target."""


@dataclass
class Sources:
    """What has been said so far, and by whom.

    Attributes:
        content: The keys and tables.
        origins: Who said each key, as in `{"limits.runs": "a2a-adapters.toml"}`.
        folder: The one with the file, where its targets are looked for.
    """

    content: Content = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    folder: Path | None = None

    def add(self, said: Content, origin: str | None = None) -> None:
        """Let somebody say what holds from now on; without `origin` it says who each key is by."""
        self.content = _merged(self.content, said)
        self.origins |= {key: origin or _variable(key) for key in _keys(said)}

    def settings(self) -> ServerSettings:
        """Return what holds.

        Raises:
            ConfigurationError: Something is no setting, or has a wrong value; a line for each.
        """
        try:
            return ServerSettings.model_validate(self.content)
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)
            raise ConfigurationError("\n".join(map(self._explained, wrong))) from None

    def origin(self, key: str) -> str:
        """Say who said a key, or all of its table in one word."""
        return self.origins.get(key) or self.origins.get(key.rpartition(".")[0], DEFAULT)

    def _explained(self, wrong: ErrorDetails) -> str:
        key = ".".join(map(str, wrong["loc"]))
        reason = wrong["msg"].removeprefix("Value error, ")
        if wrong["type"] == "extra_forbidden":
            reason = f"there is no such setting; {_nearest(wrong['loc'])}"
        return f"{self._speaker(key)}: {key}: {reason}"

    def _speaker(self, key: str) -> str:
        """Say who said a key, or anything else in the table that lacks it."""
        table = key.rpartition(".")[0]
        near = (who for said, who in self.origins.items() if said.startswith((f"{table}.", key)))
        return self.origins.get(key) or next(near, DEFAULT)


def gather(
    given: Content, file: Path | None = None, environment: Mapping[str, str] = os.environ
) -> Sources:
    """Return what is said by a file, the environment, and `given` on the command line.

    Args:
        given: The keys and tables of `ServerSettings`.
        file: The file to read in place of the folder's.
        environment: Holds `A2A_ADAPTERS_PORT`, `A2A_ADAPTERS_LIMITS_RUNS` and the like.

    Raises:
        ConfigurationError: The file cannot be read, or a variable names no limit.
    """
    sources = Sources()
    variables = _from(environment)
    if given.keys() & _WHAT:
        variables = _without(variables, _WHAT)
    is_said = (given | variables).keys() & _WHAT
    found = read_file(file, needs_target=not is_said)
    if found is not None:
        path, content = found
        sources.folder = path.parent
        content = _without(content, _WHAT | _WORDS) if is_said else content
        sources.add(content, path.name if path.parent == Path.cwd() else str(path))
    sources.add(variables)
    sources.add(given, COMMAND_LINE)
    return sources


def _without(content: Content, keys: set[str]) -> Content:
    return {key: value for key, value in content.items() if key not in keys}


def _from(environment: Mapping[str, str]) -> Content:
    said: Content = {
        key: environment[_variable(key)]
        for key in ServerSettings.model_fields
        if key not in {"agents", *_TABLES} and environment.get(_variable(key))
    }
    for table in _TABLES:
        prefix = f"{_variable(table)}_"
        content = {
            variable.removeprefix(prefix).lower(): value
            for variable, value in environment.items()
            if variable.startswith(prefix)
        }
        if content:
            said[table] = content
    if push := environment.get(_variable("push")):
        said["push"] = _is_on(push) and said.get("push", True)
    return said


def _is_on(value: str) -> bool:
    try:
        return TypeAdapter(bool).validate_python(value)
    except ValidationError:
        raise ConfigurationError(f"{_variable('push')} is true or false") from None


def _variable(key: str) -> str:
    return _PREFIX + key.replace(".", "_").upper()


def _merged(below: Content, above: Content) -> Content:
    """Return what holds where both speak; saying yes to a table leaves it as it is."""
    both = dict(below)
    for key, value in above.items():
        under = both.get(key)
        if isinstance(under, dict) and isinstance(value, dict):
            both[key] = _merged(under, value)
        elif not (isinstance(under, dict) and value is True):
            both[key] = value
    return both


def _keys(content: Content, prefix: str = "") -> Iterator[str]:
    for key, value in content.items():
        if isinstance(value, dict):
            yield from _keys(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _nearest(loc: tuple[int | str, ...]) -> str:
    """Say which setting may have been meant."""
    known = _fields(ServerSettings, loc[:-1])
    return nearest(str(loc[-1]), sorted(known))


def _fields(table: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Return the keys of a table; that of one agent is the same whatever its name."""
    for step in path:
        kind = table.model_fields.get(str(step))
        inner = [kind.annotation, *get_args(kind.annotation)] if kind else [table]
        tables = [each for each in inner if isinstance(each, type) and issubclass(each, BaseModel)]
        table = tables[0]
    return list(table.model_fields)
