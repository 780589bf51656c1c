"""Answers in the formats of Agno and Agno-Go."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from a2a_adapters import Text, ToolCall, ToolResult
from a2a_adapters.dialects import one_line
from a2a_adapters_agno.parts import encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters import AgentReply, Part

_CONTENT = {"agno_content_category": "content"}
_EVENTS = {"status-update": "TaskStatusUpdateEvent", "message": "Message", "task": "Task"}


class TaskShapes:
    """Builds the results of a task in Agno's format.

    Args:
        task_id: Id of the task.
        context_id: Id of its context.
        message_id: Id of the agent's message.
    """

    def __init__(self, task_id: str, context_id: str, message_id: str) -> None:
        self._task_id = task_id
        self._context_id = context_id
        self._message_id = message_id

    def status(
        self, state: str, *, final: bool = False, metadata: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        """Return a status update."""
        return {
            "contextId": self._context_id,
            "final": final,
            "kind": "status-update",
            **({"metadata": metadata} if metadata else {}),
            "status": {"state": state},
            "taskId": self._task_id,
        }

    def message(
        self, parts: Sequence[Part], metadata: Mapping[str, object] = _CONTENT
    ) -> dict[str, Any]:
        """Return a piece of the answer."""
        return {
            "contextId": self._context_id,
            "kind": "message",
            "messageId": self._message_id,
            **({"metadata": metadata} if metadata else {}),
            "parts": encode(parts),
            "role": "agent",
            "taskId": self._task_id,
        }

    def tool(self, event: ToolCall | ToolResult) -> dict[str, Any]:
        """Return a status update about a tool call."""
        kind = "tool_call_started" if isinstance(event, ToolCall) else "tool_call_completed"
        about: dict[str, object] = {
            "agno_event_type": kind,
            "tool_name": event.name,
            "tool_call_id": event.id,
        }
        if isinstance(event, ToolCall):
            about["tool_args"] = one_line(event.arguments).decode()
        return self.status("working", metadata=about)

    def task(self, reply: AgentReply) -> dict[str, Any]:
        """Return the whole task, with its answer or failure reason in the history."""
        return {
            "contextId": self._context_id,
            "history": [self.message(said(reply), {})],
            "id": self._task_id,
            "kind": "task",
            **({"metadata": reply.metadata} if reply.metadata else {}),
            "status": {"state": reply.state},
        }


def said(reply: AgentReply) -> Sequence[Part]:
    """Return the final parts of the agent."""
    if reply.state in {"failed", "rejected", "canceled"}:
        parts = with_text(reply)
        return [*parts, *(part for part in reply.status_parts if part not in parts)]
    return with_text(reply)


def with_text(reply: AgentReply) -> Sequence[Part]:
    """Return the answer's parts; add text for data without text, as Agno shows only text."""
    if reply.text or not reply.data:
        return reply.parts
    return [Text(reply.data_text), *reply.parts]


def event(call_id: str | int, result: Mapping[str, Any]) -> bytes:
    """Return a result as a stream event."""
    return frame(_EVENTS[result["kind"]], {"id": call_id, "jsonrpc": "2.0", "result": result})


def frame(name: str, data: object) -> bytes:
    """Return a server-sent event."""
    return f"event: {name}\ndata: ".encode() + one_line(data) + b"\n\n"


def go_message(reply: AgentReply, agent_id: str) -> dict[str, Any]:
    """Return the answer in Agno-Go's format."""
    return {
        "messageId": str(uuid4()),
        "role": "agent",
        "agentId": agent_id,
        "contextId": reply.context_id,
        "parts": encode(said(reply), wrap_data=True),
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    }


def go_state(reply: AgentReply) -> str:
    """Return a task's state in Agno-Go's spelling."""
    return "cancelled" if reply.state == "canceled" else reply.state
