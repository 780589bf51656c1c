"""What a task has come to: an answer, or an error."""

from __future__ import annotations

from a2a_adapters_omniroute.errors import (
    OmniRouteAnswerError,
    OmniRouteBudgetError,
    OmniRouteCancelledError,
)
from a2a_adapters_omniroute.failure import failure
from a2a_adapters_omniroute.reply import OmniRouteReply, OmniRouteTask


def reply_of(task: OmniRouteTask, streamed: str = "") -> OmniRouteReply:
    """Return the answer that a task holds.

    Args:
        task: The task.
        streamed: The text that came before, in place of that of its artifacts.

    Raises:
        OmniRouteError: It holds none; the subclass says why.
    """
    if task.state == "cancelled":
        raise OmniRouteCancelledError("the task was cancelled", task_id=task.id)
    if task.state == "failed":
        raise failure(_reason(task), task.id)
    if task.state != "completed":
        raise OmniRouteAnswerError(
            f"the task is {task.state!r:.30} still; wait(task_id) waits for it", task_id=task.id
        )
    reply = OmniRouteReply(
        text=streamed or task.text,
        task_id=task.id,
        artifacts=task.artifacts,
        metadata=task.metadata,
    )
    if reply.policy_verdict.get("allowed") is False:
        reason = reply.policy_verdict.get("reason", "it gives no reason")
        raise OmniRouteBudgetError(
            f"the gateway's policy refuses the call: {reason}; allow a larger budget, or take a "
            "cheaper model or combo",
            reply,
        )
    if not reply.text:
        raise OmniRouteAnswerError("the gateway's answer holds no text", task_id=task.id)
    return reply


def _reason(task: OmniRouteTask) -> str:
    told = [task.metadata.get("error"), *(event.get("message") for event in task.events[::-1])]
    return next((reason for reason in told if isinstance(reason, str)), "it gave no reason")
