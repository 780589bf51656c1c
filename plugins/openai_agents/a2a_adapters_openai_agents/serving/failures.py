"""Maps the errors that end a run to the rejection or failure that the caller receives."""

from __future__ import annotations

from agents import (
    InputGuardrailTripwireTriggered,
    ModelRefusalError,
    OutputGuardrailTripwireTriggered,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailTripwireTriggered,
    ToolTimeoutError,
    UserError,
)

from a2a_adapters import AgentFailedError, Rejected, model_failure

# A guardrail's own output may contain anything, so that it is only for the agent's owner.
_TRIPWIRES: dict[type[Exception], Rejected] = {
    InputGuardrailTripwireTriggered: Rejected("A guardrail of this agent declined the message."),
    OutputGuardrailTripwireTriggered: Rejected("A guardrail of this agent withheld its answer."),
    ToolInputGuardrailTripwireTriggered: Rejected("A guardrail of this agent stopped a tool."),
    ToolOutputGuardrailTripwireTriggered: Rejected("A guardrail of this agent stopped a tool."),
}


def rejection(error: Exception) -> Rejected | None:
    """Return the rejection if a guardrail or the model declined."""
    if isinstance(error, ModelRefusalError):
        return Rejected(error.refusal)
    return _TRIPWIRES.get(type(error))


def failed(error: Exception) -> AgentFailedError | None:
    """Return the failure if the model or a tool caused it."""
    if failure := model_failure(error):
        return failure
    # The SDK chains a `UserError` to a cause only for exceptions of tools.
    is_tools = isinstance(error, UserError) and error.__cause__ is not None
    return AgentFailedError("tool") if is_tools or isinstance(error, ToolTimeoutError) else None
