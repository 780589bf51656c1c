"""Classifies the errors that end a run."""

from __future__ import annotations

import re

from pydantic_ai import exceptions

from a2a_adapters import A2AAdaptersError, AgentEvent, BlockedError, Rejected, TaskMetadata
from a2a_adapters.plugin import AgentFailedError, ErrorCategory, model_failure

_LIMIT = re.compile(r"`?(\w+)_limit`? of ([\d.]*\d)")
_LIMITS = (
    exceptions.ConcurrencyLimitExceeded,
    exceptions.OutputTokenLimitExceeded,
    exceptions.RunTimedOut,
)
_TRANSIENT = {408, 409, 425, 429}
"""HTTP statuses below 500 after which a retry may succeed."""


def rejection(error: Exception) -> list[AgentEvent]:
    """Return the rejection if a usage limit ended the run."""
    if not isinstance(error, exceptions.UsageLimitExceeded):
        return []
    reason = f"The agent reached its usage limit{_limit(error)}."
    return [TaskMetadata({"error": {"category": "limit"}}), Rejected(reason)]


def blocked(error: Exception, *, in_tool: bool) -> BlockedError | None:
    """Return the rejection if a content filter, a validator or a hook refused the answer.

    Args:
        error: The error.
        in_tool: Whether a tool was running, which may refuse its arguments in the same way.
    """
    if isinstance(error, exceptions.ContentFilterError):
        return BlockedError("The content filter of the model stopped the answer.")
    if in_tool or not isinstance(error, exceptions.UnexpectedModelBehavior):
        return None
    cause = error.__cause__
    while cause is not None and not isinstance(cause, exceptions.ModelRetry):
        cause = cause.__cause__
    return BlockedError("The agent's checks refused every answer of its model.") if cause else None


def _limit(error: exceptions.UsageLimitExceeded) -> str:
    """Name the limit, without the amount that was used."""
    found = _LIMIT.search(str(error))
    if not found or found[1] == "cost":
        return ""
    counted = found[1].replace("_", " ").removesuffix("s")
    return f" of {found[2]} {counted}s"


def failure(error: Exception, *, in_tool: bool) -> AgentFailedError | None:
    """Return the failure if the model, a limit or a tool caused it.

    Args:
        error: The error.
        in_tool: Whether a tool was running.
    """
    if found := model_failure(error):
        return found
    if category := _category(error):
        return AgentFailedError(category)
    if isinstance(error, A2AAdaptersError):  # a tool's own, for the caller
        return None
    return AgentFailedError("tool") if in_tool else None


def is_of_model(error: Exception) -> bool:
    """Whether a call of a model failed."""
    return model_failure(error) is not None or _category(error) in {
        "model_refused",
        "model_unavailable",
    }


def _category(error: BaseException) -> ErrorCategory | None:
    """Return the category of an error, of its cause, or of a group of a fallback model."""
    if isinstance(error, exceptions.ModelAPIError):
        return "model_refused" if _is_refusal(error) else "model_unavailable"
    if isinstance(error, _LIMITS):
        return "limit"
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(_category, error.exceptions)), None)
    return _category(error.__cause__) if error.__cause__ else None


def _is_refusal(error: exceptions.ModelAPIError) -> bool:
    if isinstance(error, exceptions.ModelHTTPError):
        return error.status_code < 500 and error.status_code not in _TRANSIENT
    return isinstance(error, exceptions.ModelRequestRejectedError)
