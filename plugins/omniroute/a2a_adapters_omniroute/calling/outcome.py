"""What a task has come to: an answer, or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import Text
from a2a_adapters_omniroute.calling.failure import NO_PROVIDER, failure
from a2a_adapters_omniroute.errors import (
    OmniRouteAnswerError,
    OmniRouteBudgetError,
    OmniRouteCancelledError,
)

if TYPE_CHECKING:
    from a2a_adapters_omniroute.calling.reply import OmniRouteReply


def checked(reply: OmniRouteReply) -> OmniRouteReply:
    """Return the answer of a task that has ended.

    Raises:
        OmniRouteError: It is none; the subclass says why.
    """
    if reply.state == "canceled":
        raise OmniRouteCancelledError("the task was cancelled", task_id=reply.task_id)
    if reply.state == "failed" and reply.policy_verdict.get("allowed") is not False:
        retryable = reply.metadata.get("error_code") == NO_PROVIDER
        said = [part.text for part in reply.status_parts if isinstance(part, Text)]
        raise failure("\n".join(said) or "it gave no reason", reply.task_id, retryable=retryable)
    if reply.policy_verdict.get("allowed") is False:
        reason = reply.policy_verdict.get("reason", "it gives no reason")
        raise OmniRouteBudgetError(
            f"the gateway's policy refuses the call: {reason}; allow a larger budget, or take a "
            "cheaper model or combo",
            reply,
        )
    if not reply.parts:
        raise OmniRouteAnswerError("the gateway's answer holds nothing", task_id=reply.task_id)
    return reply
