"""The steps of a conversation as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smolagents import ActionStep, AgentError, PlanningStep, TaskStep
from smolagents.memory import ToolCall
from smolagents.models import ChatMessage, MessageRole
from smolagents.monitoring import AgentLogger, LogLevel, Timing

from a2a_adapters.plugin import as_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from smolagents.memory import MemoryStep

_SILENT = AgentLogger(LogLevel.OFF)
_TIMING = Timing(0.0, 0.0)


def encoded(steps: Iterable[MemoryStep]) -> list[dict[str, Any]]:
    """Return the messages that tell a model of earlier steps; images are left out."""
    return list(_encoded(steps))


def _encoded(steps: Iterable[MemoryStep]) -> Iterator[dict[str, Any]]:
    for step in steps:
        match step:
            case TaskStep():
                yield {"task": step.task}
            case PlanningStep():
                yield {"plan": step.plan}
            case ActionStep():
                yield {
                    "number": step.step_number,
                    "output": as_json(step.model_output),
                    "calls": [
                        [call.name, as_json(call.arguments), call.id]
                        for call in step.tool_calls or ()
                    ],
                    "observations": step.observations,
                    "error": str(step.error) if step.error else None,
                }


def decoded(steps: Iterable[Mapping[str, Any]]) -> list[MemoryStep]:
    """Return the steps of an earlier run."""
    return [_decoded(step) for step in steps]


def _decoded(step: Mapping[str, Any]) -> MemoryStep:
    match step:
        case {"task": task}:
            return TaskStep(task)
        case {"plan": plan}:
            message = ChatMessage(role=MessageRole.ASSISTANT, content=plan)
            return PlanningStep([], message, plan, _TIMING)
    return ActionStep(
        step_number=step["number"],
        timing=_TIMING,
        model_output=step["output"],
        tool_calls=[ToolCall(*call) for call in step["calls"]] or None,
        observations=step["observations"],
        error=AgentError(step["error"], _SILENT) if step["error"] else None,
    )
