"""What the user says of how agents are offered as tools."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from a2a_adapters import ConfigurationError

if TYPE_CHECKING:
    from a2a_adapters.dialects import DialectServer
    from a2a_adapters_mcp.offering.tools import By

__all__ = ["McpTools"]


class McpTools:
    """A dialect: the agents of a server as tools of an MCP server, at `/mcp` of the same port.

    `dialects=["mcp"]` is `dialects=[McpTools()]`.

    Args:
        by: "agent" makes a tool of every agent, "skill" of every skill that agents have.
        sessions: How many sessions of clients may be open at once. For one more, the one that was
            unused longest is closed, unless it was used within the last minute.
        sessions_per_caller: How many of them one caller may have: one user or, where callers do
            not say who they are, one address other than this machine's.
        idle_seconds: How long a session may go unused before it is closed. As long as its client
            listens, by a `GET` that stays open, it is used.
        task_after_seconds: How long a call is waited for until a client that knows tasks
            (the protocol of 2026-07-28) gets a task in the place of the result.

    Raises:
        ConfigurationError: `by` is something else, or there may be no session.
    """

    def __init__(
        self,
        by: By = "agent",
        *,
        sessions: int = 1_000,
        sessions_per_caller: int = 100,
        idle_seconds: float = 1_800,
        task_after_seconds: float = 5,
    ) -> None:
        if by not in {"agent", "skill"}:
            raise ConfigurationError(f"tools are made by 'agent' or by 'skill', not by {by!r}")
        bounds = {
            "sessions": sessions,
            "sessions_per_caller": sessions_per_caller,
            "idle_seconds": idle_seconds,
        }
        for name, bound in bounds.items():
            if not 0 < bound < math.inf:
                raise ConfigurationError(f"{name} is a number above 0, not {bound}")
        self.by = by
        self.sessions = sessions
        self.sessions_per_caller = sessions_per_caller
        self.idle_seconds = idle_seconds
        self.task_after_seconds = task_after_seconds


class Captured(McpTools):
    """Takes what is served instead of making routes of it: for clients that use no port."""

    server: DialectServer
