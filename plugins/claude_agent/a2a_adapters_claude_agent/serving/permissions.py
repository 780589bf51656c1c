"""Decides about the tools that Claude Code asks about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from claude_agent_sdk import (
    CanUseTool,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
)

from a2a_adapters_claude_agent.serving.questions import called

Ask: TypeAlias = Callable[[str, dict[str, Any], ToolPermissionContext], Awaitable[PermissionResult]]
"""Asks the caller about a tool."""

_PATH_KEYS = (
    "path", "file_path", "filePath", "filepath", "abs_path", "absolute_path", "notebook_path",
)  # fmt: skip
_MOST_REFUSALS = 50
_REFUSED = "This is not permitted here, and nobody can be asked."


class Permissions:
    """Decides about the tools of one run, in this order.

    1. A callback of the agent's options decides, unless it returns None.
    2. Paths outside the working folders are refused.
    3. The caller decides; without one, the tool is refused.

    Attributes:
        is_exhausted: Whether the agent has insisted on tools that it may not use.

    Args:
        own: The callback of the agent's options.
        folders: The working folders.
        granted: A call that may run without a question, once, as `called` returns it.
        ask: Asks the caller; None if callers are not asked.
    """

    is_exhausted = False

    def __init__(
        self, own: CanUseTool | None, folders: Sequence[Path], granted: str, ask: Ask | None
    ) -> None:
        self._own = own
        self._folders = folders
        self._granted = granted
        self._ask = ask
        self._refusals = 0

    async def can_use(
        self, tool: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        """Decide about a call of a tool (`CanUseTool` of the framework)."""
        result = await self._own(tool, given, context) if self._own else None
        if result is None:
            result = await self._decide(tool, given, context)
        if isinstance(result, PermissionResultDeny):
            self._refusals += 1
            if self._refusals > _MOST_REFUSALS:
                self.is_exhausted = True
                return PermissionResultDeny(message=result.message, interrupt=True)
        return result

    async def _decide(
        self, tool: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        if self._granted and called(tool, given) == self._granted:
            self._granted = ""
            return PermissionResultAllow()
        paths = [given[key] for key in _PATH_KEYS if isinstance(given.get(key), str)]
        paths += [context.blocked_path] if context.blocked_path else []
        if self._ask is None or not all(map(self._is_inside, paths)):
            return PermissionResultDeny(message=_REFUSED)
        return await self._ask(tool, given, context)

    def _is_inside(self, path: str) -> bool:
        try:
            found = (self._folders[0] / path).resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, or a null character
            return False
        return any(found.is_relative_to(folder) for folder in self._folders)


def similar(
    suggestions: Sequence[PermissionUpdate], given: Mapping[str, Any]
) -> list[PermissionUpdate]:
    """Return the rules that allow similar calls for the rest of a run; none for the folder `.git`.

    They are never kept longer, as settings apply to all callers.
    """
    if ".git" in str(given):
        return []
    return [
        PermissionUpdate("addRules", rules=each.rules, behavior="allow", destination="session")
        for each in suggestions
        if each.type == "addRules" and each.behavior == "allow" and each.rules
    ] + [
        PermissionUpdate("setMode", mode="acceptEdits", destination="session")
        for each in suggestions
        if each.type == "setMode" and each.mode == "acceptEdits"
    ]
