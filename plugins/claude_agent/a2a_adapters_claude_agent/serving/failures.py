"""Classifies the results that end a run without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import BlockedError
from a2a_adapters.plugin import AgentFailedError

if TYPE_CHECKING:
    from claude_agent_sdk import ResultMessage

    from a2a_adapters.plugin import ErrorCategory

_LIMITS = ("error_max_turns", "error_max_budget_usd")
_TRANSIENT = (408, 409, 425, 429)
_REFUSED = ("authentication_failed", "billing_error", "invalid_request")


def check(result: ResultMessage | None, fault: str) -> None:
    """Check that a run has an answer.

    Args:
        result: The result; None if Claude Code ended without one.
        fault: The kind of the last failed call of the model; "" if none failed.

    Raises:
        AgentFailedError: The run failed.
        BlockedError: The model refused to answer.
    """
    if result is None:
        raise AgentFailedError
    if result.stop_reason == "refusal":
        raise BlockedError("The agent's model refuses to answer.")
    if result.is_error or result.subtype != "success":
        raise AgentFailedError(_category(result, fault))


def _category(result: ResultMessage, fault: str) -> ErrorCategory:
    if result.subtype in _LIMITS:
        return "limit"
    if status := result.api_error_status:
        is_refused = status < 500 and status not in _TRANSIENT
        return "model_refused" if is_refused else "model_unavailable"
    if fault:
        return "model_refused" if fault in _REFUSED else "model_unavailable"
    return "internal"
