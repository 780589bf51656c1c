"""Calls of remote agents in the SDK's traces, where somebody has set these up."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agents.tracing import custom_span

from a2a_adapters import RemoteAgentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_adapters import AgentReply, RemoteAgent


class CallSpan:
    """One call. Its span names the agent, the conversation and the task, and has no content.

    Args:
        data: The span's data.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def take(self, reply: AgentReply) -> None:
        """Note how the agent answered."""
        self._data["context_id"] = reply.context_id
        self._data["task_id"] = reply.task_id
        self._data["state"] = reply.state


@contextmanager
def call_span(agent: RemoteAgent, *, disabled: bool = False) -> Iterator[CallSpan]:
    """Trace a call as a child of the current span.

    Args:
        agent: The remote agent.
        disabled: Whether tracing is off.
    """
    span = custom_span("a2a", {"agent": agent.name}, disabled=disabled)
    span.start()  # not as the current one: a stream may be closed in another context
    try:
        yield CallSpan(span.span_data.data)
    except RemoteAgentError as error:
        span.set_error({"message": type(error).__name__, "data": None})
        raise
    finally:
        span.finish()
