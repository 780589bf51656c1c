"""Classifies the errors that end a run."""

from __future__ import annotations

from workflows.errors import ContextSerdeError, WorkflowRuntimeError, WorkflowTimeoutError

from a2a_adapters import BlockedError
from a2a_adapters.plugin import AgentFailedError, model_failure


def failure(error: Exception) -> AgentFailedError | BlockedError | None:
    """Return the failure if a guardrail, a limit or the model caused it."""
    if isinstance(error, BlockedError):
        return error
    if isinstance(error, ContextSerdeError):
        return AgentFailedError(
            "internal", "The agent has changed; please start a new conversation."
        )
    is_limit = isinstance(error, WorkflowRuntimeError) and "Max iterations" in str(error)
    if is_limit or isinstance(error, WorkflowTimeoutError):
        return AgentFailedError("limit")
    return model_failure(error)
