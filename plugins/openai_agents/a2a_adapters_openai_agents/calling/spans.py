"""Traces calls of remote agents with the SDK's spans."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agents.tracing import custom_span

from a2a_adapters import RemoteAgentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_adapters import AgentReply, RemoteAgent


class CallSpan:
    """The span of one call: the agent, the conversation, the task and its state, but no content.

    Args:
        data: The span's data.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def take(self, reply: AgentReply) -> None:
        """Record the ids and the state of the answer."""
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
