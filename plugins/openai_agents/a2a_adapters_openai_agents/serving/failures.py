"""Runs that were ended by what guards them, as the caller is told of it."""

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

# What guardrails say of a message is for the agent's owner: their code may put anything into it.
_TRIPWIRES: dict[type[Exception], Rejected] = {
    InputGuardrailTripwireTriggered: Rejected("A guardrail of this agent declined the message."),
    OutputGuardrailTripwireTriggered: Rejected("A guardrail of this agent withheld its answer."),
    ToolInputGuardrailTripwireTriggered: Rejected("A guardrail of this agent stopped a tool."),
    ToolOutputGuardrailTripwireTriggered: Rejected("A guardrail of this agent stopped a tool."),
}


def rejection(error: Exception) -> Rejected | None:
    """Return why an agent declines, if it is a guardrail or its model that does."""
    if isinstance(error, ModelRefusalError):
        return Rejected(error.refusal)
    return _TRIPWIRES.get(type(error))


def failed(error: Exception) -> AgentFailedError | None:
    """Return why a run failed, if it is its model or one of its tools."""
    if failure := model_failure(error):
        return failure
    # The SDK raises nothing else `from` what a tool raised.
    is_tools = isinstance(error, UserError) and error.__cause__ is not None
    return AgentFailedError("tool") if is_tools or isinstance(error, ToolTimeoutError) else None
