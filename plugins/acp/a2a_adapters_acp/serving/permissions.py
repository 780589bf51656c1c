"""Rules for an agent's requests for permission."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from acp.schema import FileEditToolCallContent, PermissionOption, ToolKind

from a2a_adapters import ConfigurationError
from a2a_adapters.plugin import as_json, check_fields
from a2a_adapters_acp.serving.paths import inside

if TYPE_CHECKING:
    from pathlib import Path

    from acp.schema import ToolCallUpdate


__all__ = ["Permissions"]

Verdict: TypeAlias = Literal["allow", "ask", "deny"]

KINDS: frozenset[str] = frozenset(get_args(ToolKind))
_CHANGES = frozenset({"edit", "delete", "move"})
_PATH_KEYS = (
    "path",
    "file_path",
    "filePath",
    "filepath",
    "abs_path",
    "absolute_path",
    "notebook_path",
)
_COMMAND_KEYS = ("command", "cmd")
PROTECTED = ".git"
_MOST_OPTIONS = 10
_MOST_PATHS = 50
_ID_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """Rules for an agent's requests for permission, checked in this order.

    1. Paths outside the working folder are denied.
    2. Kinds in `deny` are denied.
    3. Kinds in `allow`, and changes within `allow_edits_in`, are allowed, except in `.git`.
    4. Everything else is up to the caller, or denied without `ask`.

    The rules apply to requests; they do not confine an agent that acts without asking. Run
    untrusted agents in a container.

    Attributes:
        allow: Kinds of tool calls to allow: `read`, `edit`, `delete`, `move`, `search`,
            `execute`, `think`, `fetch`, `switch_mode`, `other`.
        deny: Kinds to deny.
        allow_edits_in: Folders, relative to the working folder, whose files may be changed.
        ask: Whether to ask the caller about all other requests.

    Raises:
        ConfigurationError: A kind is unknown.
    """

    allow: Collection[str] = ()
    deny: Collection[str] = ()
    allow_edits_in: Sequence[str] = ()
    ask: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        if unknown := {*self.allow, *self.deny} - KINDS:
            kinds = ", ".join(sorted(KINDS))
            raise ConfigurationError(f"{min(unknown)!r} is not a kind of tool; they are {kinds}")

    @property
    def allows_terminals(self) -> bool:
        """Whether the agent may run commands through its client without asking."""
        return "execute" in self.allow and "execute" not in self.deny

    def verdict(self, call: ToolCallUpdate, folder: Path) -> Verdict:
        """Decide on a tool call.

        Args:
            call: The agent's tool call.
            folder: The working folder, resolved.
        """
        paths = [inside(path, folder) for path in paths_of(call)]
        kinds = kinds_of(call)
        if None in paths or kinds & set(self.deny):
            return "deny"
        is_protected = any(
            path is not None and PROTECTED in path.relative_to(folder).parts for path in paths
        )
        if not (is_protected and kinds & (_CHANGES | {"other"})):
            if kinds <= set(self.allow):
                return "allow"
            if kinds <= _CHANGES and paths and all(self._may_change(p, folder) for p in paths):
                return "allow"
        return "ask" if self.ask else "deny"

    def _may_change(self, path: Path | None, folder: Path) -> bool:
        allowed = (inside(each, folder) for each in self.allow_edits_in)
        return path is not None and any(each and path.is_relative_to(each) for each in allowed)


def option_for(options: Sequence[PermissionOption], *, is_allowed: bool) -> str | None:
    """Return the id of the least permanent option: once rather than always."""
    word = "allow" if is_allowed else "reject"
    ids: dict[str, str] = {option.kind: option.option_id for option in options}
    return ids.get(f"{word}_once", ids.get(f"{word}_always"))


def is_presentable(call: ToolCallUpdate, options: Sequence[PermissionOption]) -> bool:
    """Whether a question can show all paths and options of a request."""
    has_few = len(paths_of(call)) <= _MOST_PATHS and len(options) <= _MOST_OPTIONS
    return has_few and all(len(option.option_id) <= _ID_LENGTH for option in options)


def fingerprint(call: ToolCallUpdate) -> str:
    """Return a digest that identifies a repeated request for the same permission."""
    diffs = [each for each in call.content or () if isinstance(each, FileEditToolCallContent)]
    changes = [[each.path, each.old_text, each.new_text] for each in diffs]
    given = as_json(call.raw_input)
    about = [sorted(kinds_of(call)), call.title, paths_of(call), given, changes]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def kinds_of(call: ToolCallUpdate) -> set[str]:
    """Return the kinds of a call, as declared by the agent and as implied by its arguments."""
    kinds: set[str] = {call.kind or "other"}
    if any(isinstance(each, FileEditToolCallContent) for each in call.content or ()):
        kinds = kinds - {"other", "read", "search", "think"} | {"edit"}
    if command_of(call):
        kinds.add("execute")
        kinds -= {"other", "read", "search", "think"}
    return kinds


def paths_of(call: ToolCallUpdate) -> list[str]:
    """Return the paths in a call."""
    paths = [location.path for location in call.locations or ()]
    paths += [each.path for each in call.content or () if isinstance(each, FileEditToolCallContent)]
    if isinstance(given := call.raw_input, Mapping):
        paths += [given[key] for key in _PATH_KEYS if isinstance(given.get(key), str)]
    return list(dict.fromkeys(paths))


def command_of(call: ToolCallUpdate) -> str:
    """Return a call's shell command; "" if it has none."""
    given: Any = call.raw_input
    if not isinstance(given, Mapping):
        return ""
    found = next((given[key] for key in _COMMAND_KEYS if given.get(key)), "")
    return " ".join(map(str, found)) if isinstance(found, list) else str(found)
