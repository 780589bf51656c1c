"""Settings for offering agents as tools."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from a2a_adapters import ConfigurationError
from a2a_adapters.plugin import check_arguments

if TYPE_CHECKING:
    from a2a_adapters.dialects import DialectServer
    from a2a_adapters_mcp.offering.tools import By

__all__ = ["McpTools"]


class McpTools:
    """Dialect that offers the agents of a server as MCP tools at `/mcp` of the same port.

    `dialects=["mcp"]` is `dialects=[McpTools()]`.

    Args:
        by: "agent" offers one tool per agent, "skill" one per skill.
        sessions: Maximum number of open sessions. To open another one, the session that was
            idle longest is closed, unless it was used within the last minute.
        sessions_per_caller: Maximum number of sessions per caller: per user or, without
            authentication, per address other than loopback.
        idle_seconds: Idle time after which a session is closed. An open `GET` of its client
            counts as use.
        task_after_seconds: Time to wait for a result until a client that supports tasks
            (protocol 2026-07-28) gets a task instead.

    Raises:
        ConfigurationError: `by` is invalid, or a limit is not positive.
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
            raise ConfigurationError(f"`by` must be 'agent' or 'skill', not {by!r}")
        check_arguments(McpTools, locals(), {"sessions", "sessions_per_caller", "idle_seconds"})
        if idle_seconds == math.inf:
            raise ConfigurationError("McpTools.idle_seconds must be finite")
        self.by = by
        self.sessions = sessions
        self.sessions_per_caller = sessions_per_caller
        self.idle_seconds = idle_seconds
        self.task_after_seconds = task_after_seconds


class Captured(McpTools):
    """Captures the served agents without creating routes, for clients over stdio."""

    server: DialectServer
