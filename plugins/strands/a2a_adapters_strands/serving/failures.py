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

from a2a_adapters import BlockedError, Rejected, TaskMetadata
from a2a_adapters.plugin import AgentFailedError, model_failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strands.multiagent.base import MultiAgentResult, NodeResult

    from a2a_adapters import AgentEvent
    from a2a_adapters.plugin import ErrorCategory

_BLOCKED = {
    "content_filtered": "The content filter of the model stopped the answer.",
    "guardrail_intervened": "A guardrail stopped the answer.",
}
_REACHED = {
    "limit_turns": "The agent reached its limit of turns.",
    "limit_output_tokens": "The agent reached its limit of output tokens.",
    "limit_total_tokens": "The agent reached its limit of tokens.",
}
_LIMITS = (ContextWindowOverflowException, MaxTokensReachedException)


def check_blocked(stop_reason: str) -> None:
    """Raise an error if a filter stopped the answer.

    Raises:
        BlockedError: A filter did.
    """
    if stop_reason in _BLOCKED:
        raise BlockedError(_BLOCKED[stop_reason])


def rejection(stop_reason: str) -> list[AgentEvent]:
    """Return the rejection if a limit ended the run."""
    return _limit(_REACHED[stop_reason]) if stop_reason in _REACHED else []


def team_failure(result: MultiAgentResult, answers: Mapping[str, NodeResult]) -> list[AgentEvent]:
    """Return the rejection of a team that reached a limit.

    Args:
        result: The result of the team.
        answers: The results that are its answer.

    Raises:
        BlockedError: A filter stopped an agent that answers.
        Exception: That of the agent that failed.
    """
    for node in answers.values():
        for each in node.get_agent_results():
            check_blocked(each.stop_reason)
    if result.status is not Status.FAILED:
        return []
    for node in result.results.values():
        if isinstance(node.result, Exception):
            raise node.result
    return _limit("The agents reached a limit of their team.")


def _limit(reason: str) -> list[AgentEvent]:
    category: ErrorCategory = "limit"
    return [TaskMetadata({"error": {"category": category}}), Rejected(reason)]


def failure(error: Exception) -> AgentFailedError | BlockedError | None:
    """Return the failure if the model, a limit or a guardrail caused it.

    Exceptions of tools go to the model.
    """
    if isinstance(error, EventLoopException):
        error = error.original_exception
    if isinstance(error, BlockedError):
        return error
    if isinstance(error, _LIMITS):
        return AgentFailedError("limit")
    if isinstance(error, ModelThrottledException) or type(error).__module__.startswith("botocore"):
        return AgentFailedError("model_unavailable")
    return model_failure(error)
