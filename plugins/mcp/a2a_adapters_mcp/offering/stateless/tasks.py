"""A2A tasks as MCP tasks (SEP-2663)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mcp.types import INVALID_PARAMS

from a2a_adapters_mcp.offering.results import to_result
from a2a_adapters_mcp.offering.stateless.asking import InputRequest
from a2a_adapters_mcp.offering.stateless.envelope import RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a.types import Task

    from a2a_adapters import AgentReply

_POLL_MS = 1_000
_KEPT_MS = 3_600_000
"""Default retention of a task after its last change."""


@dataclass(frozen=True, slots=True)
class TaskId:
    """Task id for clients, which adds the agent and the creation time missing in A2A's.

    Attributes:
        agent: The agent's id.
        task: The task's id.
        created: Creation time in seconds since 1970.
    """

    agent: str
    task: str
    created: int

    def __str__(self) -> str:
        return f"{self.agent}/{self.task}/{self.created:x}"

    @classmethod
    def new(cls, agent: str, task: str) -> TaskId:
        """Return the id of a task created now."""
        return cls(agent, task, int(time.time()))

    @classmethod
    def read(cls, text: object) -> TaskId:
        """Parse a client's task id.

        Raises:
            RpcError: The id is invalid.
        """
        match str(text).split("/"):
            case [agent, task, created] if agent and task and len(created) <= 8:
                try:
                    return cls(agent, task, int(created, 16))
                except ValueError:
                    pass
        raise RpcError(INVALID_PARAMS, "Unknown task")


def about(task_id: TaskId, task: Task) -> dict[str, Any]:
    """Return the common fields of messages about a task, with the status `working`."""
    changed = max(task.status.timestamp.ToSeconds(), task_id.created)
    return {
        "taskId": str(task_id),
        "status": "working",
        "createdAt": _iso(task_id.created),
        "lastUpdatedAt": _iso(changed),
        "ttlMs": (int(time.time()) - task_id.created) * 1_000 + _KEPT_MS,
        "pollIntervalMs": _POLL_MS,
    }


def detailed(
    task_id: TaskId, task: Task, reply: AgentReply, capabilities: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the state of a task with its question or result."""
    found = about(task_id, task)
    if reply.state == "canceled":
        return {**found, "status": "cancelled"}
    if reply.is_question:
        question = InputRequest(task, reply, capabilities)
        if asked := question.wire():
            requests = {question.key: asked}
            return {**found, "status": "input_required", "inputRequests": requests}
    if reply.is_question or reply.state in {"completed", "failed", "rejected"}:
        result = to_result(reply, tells_conversation=True)
        wire = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return {**found, "status": "completed", "result": wire}
    return found


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
