"""Classifies the errors and stop reasons that end a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strands.multiagent.base import Status
from strands.types.exceptions import (
    ContextWindowOverflowException,
    EventLoopException,
    MaxTokensReachedException,
    ModelThrottledException,
)

from a2a_adapters import AgentFailedError, Rejected, TaskMetadata, model_failure

if TYPE_CHECKING:
    from strands.multiagent.base import MultiAgentResult

    from a2a_adapters import AgentEvent, ErrorCategory

_REJECTIONS: dict[str, tuple[str, ErrorCategory]] = {
    "content_filtered": ("The content filter of the model stopped the answer.", "model_refused"),
    "guardrail_intervened": ("A guardrail stopped the answer.", "model_refused"),
    "limit_turns": ("The agent reached its limit of turns.", "limit"),
    "limit_output_tokens": ("The agent reached its limit of output tokens.", "limit"),
    "limit_total_tokens": ("The agent reached its limit of tokens.", "limit"),
}
_LIMITS = (ContextWindowOverflowException, MaxTokensReachedException)


def rejection(stop_reason: str) -> list[AgentEvent]:
    """Return the rejection if a limit or a filter ended the run."""
    if stop_reason not in _REJECTIONS:
        return []
    reason, category = _REJECTIONS[stop_reason]
    return [TaskMetadata({"error": {"category": category}}), Rejected(reason)]


def team_failure(result: MultiAgentResult) -> list[AgentEvent]:
    """Return the rejection of a team that reached a limit.

    Raises:
        Exception: That of the agent that failed.
    """
    if result.status is not Status.FAILED:
        return []
    for node in result.results.values():
        if isinstance(node.result, Exception):
            raise node.result
    category: ErrorCategory = "limit"
    reached = Rejected("The agents reached a limit of their team.")
    return [TaskMetadata({"error": {"category": category}}), reached]


def failure(error: Exception) -> AgentFailedError | None:
    """Return the failure if the model or a limit caused it; exceptions of tools go to the model."""
    if isinstance(error, EventLoopException):
        error = error.original_exception
    if isinstance(error, _LIMITS):
        return AgentFailedError("limit")
    if isinstance(error, ModelThrottledException) or type(error).__module__.startswith("botocore"):
        return AgentFailedError("model_unavailable")
    return model_failure(error)
