"""The outcome of a task: an answer or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import Text
from a2a_adapters_omniroute.calling.failure import NO_PROVIDER, failure
from a2a_adapters_omniroute.errors import (
    OmniRouteAnswerError,
    OmniRouteBudgetError,
    OmniRouteCancelledError,
    OmniRouteError,
)

if TYPE_CHECKING:
    from a2a_adapters_omniroute.calling.reply import OmniRouteReply


def checked(reply: OmniRouteReply) -> OmniRouteReply:
    """Return the answer of a finished task.

    Raises:
        OmniRouteError: The task has no answer; the subclass says why.
    """
    if error := _error(reply):
        raise with_reply(error, reply)
    return reply


def with_reply(error: OmniRouteError, reply: OmniRouteReply) -> OmniRouteError:
    """Attach the gateway's reply to an error."""
    error.reply, error.task_id = reply, reply.task_id
    return error


def _error(reply: OmniRouteReply) -> OmniRouteError | None:
    if reply.state == "canceled":
        return OmniRouteCancelledError("the task was cancelled")
    if reply.policy_verdict.get("allowed") is False:
        reason = reply.policy_verdict.get("reason", "no reason given")
        return OmniRouteBudgetError(
            f"the gateway's policy refuses the call: {reason}; raise the budget, or use a "
            "cheaper model or combo"
        )
    if reply.state == "failed":
        retryable = reply.metadata.get("error_code") == NO_PROVIDER
        texts = [part.text for part in reply.status_parts if isinstance(part, Text)]
        return failure("\n".join(texts) or "no reason given", retryable=retryable)
    return None if reply.parts else OmniRouteAnswerError("the gateway's answer is empty")
