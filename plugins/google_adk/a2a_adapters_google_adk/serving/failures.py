"""Classifies the errors that end a run, and the codes with which models refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.agents.invocation_context import LlmCallsLimitExceededError

from a2a_adapters import BlockedError, Rejected, TaskMetadata
from a2a_adapters.plugin import AgentFailedError, model_failure

if TYPE_CHECKING:
    from a2a_adapters import AgentEvent
    from a2a_adapters.plugin import ErrorCategory

_FILTERS = {
    "BLOCKLIST",
    "IMAGE_SAFETY",
    "MODEL_ARMOR",
    "OTHER_BLOCKED",
    "PROHIBITED_CONTENT",
    "RECITATION",
    "SAFETY",
    "SPII",
}
"""Reasons for which a content filter stops an answer, of `google.genai.types`."""


def rejection(error: Exception) -> list[AgentEvent]:
    """Return the rejection of a run that reached a limit."""
    if isinstance(error, LlmCallsLimitExceededError):
        return _rejection("The agent reached its limit of model calls.", "limit")
    return []


def failure(error: Exception) -> AgentFailedError | BlockedError | None:
    """Return the failure if the model or a guardrail caused it."""
    cause: BaseException | None = error
    while cause is not None:  # the framework wraps the errors of plugins
        if isinstance(cause, BlockedError):
            return cause
        cause = cause.__cause__
    return model_failure(error)


def is_filter(code: str | None) -> bool:
    """Return whether a content filter stopped an answer with this code."""
    return code in _FILTERS


def check_blocked(code: str) -> None:
    """Raise an error if a filter stopped the answer.

    Raises:
        BlockedError: A filter did.
    """
    if is_filter(code):
        raise BlockedError("The content filter of the model stopped the answer.")


def refused(code: str) -> list[AgentEvent]:
    """Return the rejection of an answer that the model ended with an error code.

    Raises:
        AgentFailedError: No limit stopped the answer.
    """
    if code == "MAX_TOKENS":
        return _rejection("The model reached its limit of tokens.", "limit")
    raise AgentFailedError("model_unavailable")


def _rejection(reason: str, category: ErrorCategory) -> list[AgentEvent]:
    return [TaskMetadata({"error": {"category": category}}), Rejected(reason)]
