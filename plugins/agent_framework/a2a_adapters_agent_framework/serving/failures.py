"""Classifies the errors and texts that end a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_framework import MiddlewareFailure
from agent_framework.exceptions import (
    AgentContentFilterException,
    AgentInvalidAuthException,
    AgentInvalidRequestException,
    ChatClientContentFilterException,
    ChatClientException,
    ChatClientInvalidAuthException,
    ChatClientInvalidRequestException,
)

from a2a_adapters import BlockedError, Rejected, TaskMetadata
from a2a_adapters.plugin import AgentFailedError, model_failure

if TYPE_CHECKING:
    from a2a_adapters import AgentEvent

LIMIT_TEXT = "Function invocation limit reached before a final answer could be produced."
"""The framework's answer for an agent that calls tools endlessly."""
_FILTERED = (AgentContentFilterException, ChatClientContentFilterException)
_REFUSED = (
    AgentInvalidAuthException,
    AgentInvalidRequestException,
    ChatClientInvalidAuthException,
    ChatClientInvalidRequestException,
)


FILTERED = TaskMetadata({"error": {"category": "model_refused"}})
"""The category of an answer that a content filter stopped."""


def filtered() -> BlockedError:
    """Return the rejection of an answer that a content filter stopped."""
    return BlockedError("The content filter of the model stopped the answer.")


def limited(reason: str = "The agent reached its limit of tool calls.") -> list[AgentEvent]:
    """Return the rejection of a run that reached a limit."""
    return [TaskMetadata({"error": {"category": "limit"}}), Rejected(reason)]


def is_filtered(error: Exception) -> bool:
    """Whether a content filter ended the run."""
    return isinstance(error, _FILTERED)


def blocked(error: Exception) -> BlockedError | None:
    """Return the rejection if a filter, or middleware that enforces a policy, ended the run."""
    if is_filtered(error):
        return filtered()
    # The exception of the package agent-hooks, which the framework does not require.
    is_policy = isinstance(error, MiddlewareFailure) or _is_interception(error)
    return BlockedError() if is_policy else None


def _is_interception(error: Exception) -> bool:
    kind = type(error)
    return kind.__name__ == "InterceptionBlocked" and kind.__module__.startswith("agent_hooks")


def failure(error: Exception) -> AgentFailedError | None:
    """Return the failure if the model caused it; exceptions of tools go to the model."""
    if isinstance(error, _REFUSED):
        return AgentFailedError("model_refused")
    if known := model_failure(error):
        return known
    return AgentFailedError("model_unavailable") if isinstance(error, ChatClientException) else None
