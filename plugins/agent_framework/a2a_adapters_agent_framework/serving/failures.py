"""Classifies the errors and texts that end a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_framework.exceptions import (
    AgentContentFilterException,
    AgentInvalidAuthException,
    AgentInvalidRequestException,
    ChatClientContentFilterException,
    ChatClientException,
    ChatClientInvalidAuthException,
    ChatClientInvalidRequestException,
)

from a2a_adapters import AgentFailedError, Rejected, TaskMetadata, model_failure

if TYPE_CHECKING:
    from a2a_adapters import AgentEvent, ErrorCategory

LIMIT_TEXT = "Function invocation limit reached before a final answer could be produced."
"""The framework's answer of an agent that calls tools without an end."""
_FILTERED = (AgentContentFilterException, ChatClientContentFilterException)
_REFUSED = (
    AgentInvalidAuthException,
    AgentInvalidRequestException,
    ChatClientInvalidAuthException,
    ChatClientInvalidRequestException,
)


def filtered() -> list[AgentEvent]:
    """Return the rejection of an answer that a content filter stopped."""
    return _rejection("The content filter of the model stopped the answer.", "model_refused")


def limited(reason: str = "The agent reached its limit of tool calls.") -> list[AgentEvent]:
    """Return the rejection of a run that reached a limit."""
    return _rejection(reason, "limit")


def rejection(error: Exception) -> list[AgentEvent]:
    """Return the rejection if a filter ended the run."""
    return filtered() if isinstance(error, _FILTERED) else []


def failure(error: Exception) -> AgentFailedError | None:
    """Return the failure if the model caused it; exceptions of tools go to the model."""
    if isinstance(error, _REFUSED):
        return AgentFailedError("model_refused")
    if known := model_failure(error):
        return known
    return AgentFailedError("model_unavailable") if isinstance(error, ChatClientException) else None


def _rejection(reason: str, category: ErrorCategory) -> list[AgentEvent]:
    return [TaskMetadata({"error": {"category": category}}), Rejected(reason)]
