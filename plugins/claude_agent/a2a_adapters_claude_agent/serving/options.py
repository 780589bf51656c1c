"""The options of the agent, and those of one of its runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from claude_agent_sdk import CanUseTool, ClaudeAgentOptions, HookCallback, HookMatcher

from a2a_adapters import BlockedError, TargetError
from a2a_adapters.concurrency import basic_environment
from a2a_adapters_claude_agent.serving.plugins import events_in, hooked_events, read

if TYPE_CHECKING:
    from claude_agent_sdk import SessionStore

    from a2a_adapters_claude_agent.serving.session import Session

_PASSED = ("ANTHROPIC_*", "CLAUDE_*", "DISABLE_*")
_DEFAULTS = {
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",  # all callers would share its notes
    "DISABLE_AUTOUPDATER": "1",
}
_FOLDER = "CLAUDE_CONFIG_DIR"
_SHARED = (
    "continue_conversation", "fork_session", "permission_prompt_tool_name", "resume",
    "resume_session_at", "session_id", "session_store",
)  # fmt: skip
"""Options that would mix the callers' conversations, or take their questions elsewhere."""


def check(options: object) -> ClaudeAgentOptions:
    """Return the options of an agent.

    Raises:
        TargetError: It is something else, an option would mix callers, or the SDK would not find
            the sessions.
    """
    if not isinstance(options, ClaudeAgentOptions):
        raise TargetError(f"{type(options).__name__} is not ClaudeAgentOptions")
    for name in _SHARED:
        if getattr(options, name, None):
            raise TargetError(
                f"the option {name} would mix the callers' conversations: remove it; "
                "sessions are kept in the server's storage"
            )
    has_folder = options.env.get(_FOLDER, os.environ.get(_FOLDER))
    home = os.environ.get("HOME")
    if options.env.get("HOME", home) != home and not has_folder:
        raise TargetError(
            f"env sets HOME, but not {_FOLDER}: the SDK would look for the sessions of Claude Code "
            f"in the home folder of the server, and lose every conversation. Set {_FOLDER} in env "
            "as well, for example to the folder .claude in that home"
        )
    return options


def folders(options: ClaudeAgentOptions) -> list[Path]:
    """Return the working folder and the additional ones, resolved."""
    folder = Path(options.cwd or ".").resolve()
    return [folder, *((folder / each).resolve() for each in options.add_dirs)]


def hooks(options: ClaudeAgentOptions) -> set[str]:
    """Return the events that have hooks, also in the settings and plugins of the options."""
    folder, settings = Path(options.cwd or "."), (options.settings or "").strip()
    is_file = settings and not settings.startswith("{")
    configured = read(folder / settings) if is_file else settings
    plugged = (hooked_events(folder / plugin["path"]) for plugin in options.plugins)
    return {*(options.hooks or ()), *events_in(configured), *chain.from_iterable(plugged)}


def of_run(
    options: ClaudeAgentOptions,
    session: Session,
    can_use_tool: CanUseTool,
    blocked: Callable[[BlockedError], None],
    *,
    expands: bool,
) -> ClaudeAgentOptions:
    """Return the options of one run.

    Args:
        options: The options of the agent.
        session: The session of the conversation.
        can_use_tool: Decides about tools.
        blocked: Receives the errors of hooks that block the run.
        expands: Whether commands and mentions of files in the message are carried out.
    """
    own = options.hooks or {}
    guarded = {event: [_guarded(each, blocked) for each in given] for event, given in own.items()}
    return replace(
        options,
        can_use_tool=can_use_tool,
        env=_environment() | options.env,
        hooks=guarded or None,
        include_partial_messages=True,
        resume=session.id,
        session_store=cast("SessionStore", session),
        session_store_flush="eager",
        verbatim_prompts=not expands,
    )


def _environment() -> dict[str, str]:
    """Return the variables that the SDK must not pass on, as empty ones, and our defaults."""
    passed = basic_environment(_PASSED)
    return {name: "" for name in os.environ if name not in passed} | _DEFAULTS


def _guarded(matcher: HookMatcher, blocked: Callable[[BlockedError], None]) -> HookMatcher:
    return replace(matcher, hooks=[_reporting(each, blocked) for each in matcher.hooks])


def _reporting(hook: HookCallback, blocked: Callable[[BlockedError], None]) -> HookCallback:
    async def reporting(*arguments: Any) -> Any:
        try:
            return await hook(*arguments)
        except BlockedError as error:
            blocked(error)
            return {"continue_": False}

    return reporting
