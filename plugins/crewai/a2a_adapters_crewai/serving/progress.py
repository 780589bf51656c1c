"""What crewai's events tell: steps and tools for those who follow, and the token usage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from crewai import Task, TaskOutput
from crewai.events.types.agent_events import AgentExecutionStartedEvent
from crewai.events.types.flow_events import (
    MethodExecutionFinishedEvent,
    MethodExecutionStartedEvent,
)
from crewai.events.types.llm_events import LLMCallCompletedEvent, LLMStreamChunkEvent
from crewai.events.types.task_events import TaskCompletedEvent, TaskStartedEvent
from crewai.events.types.tool_usage_events import (
    ToolUsageErrorEvent,
    ToolUsageFinishedEvent,
    ToolUsageStartedEvent,
)
from crewai.types.usage_metrics import UsageMetrics

from a2a_adapters import (
    AgentEvent,
    Progress,
    TaskMetadata,
    ToolCall,
    ToolResult,
    as_json,
    tool_arguments,
)
from a2a_adapters_crewai.serving.speech import is_internal

if TYPE_CHECKING:
    from a2a_adapters_crewai.serving.speech import Speech

OnTask: TypeAlias = Callable[[Task, TaskOutput], Iterator[AgentEvent]]


class News:
    """The news of one run. Events come from any of its threads.

    Args:
        wants_progress: Whether anybody follows the run.
        tokens: Whether the models' text is told as it comes.
        on_task: Makes events of a finished task.
        usage_before: The usage of the task's runs before this one.
        speech: Hears the answer while it comes.
    """

    def __init__(
        self,
        *,
        wants_progress: bool,
        tokens: bool = False,
        on_task: OnTask | None = None,
        usage_before: Mapping[str, Any] | None = None,
        speech: Speech | None = None,
    ) -> None:
        self._wants_progress = wants_progress
        self._tokens = tokens
        self._on_task = on_task
        self._before = usage_before or {}
        self._speech = speech
        self._usages: list[Mapping[str, Any]] = []

    def take(self, source: Any, event: Any) -> Iterator[AgentEvent]:
        """Yield what an event is worth telling."""
        if isinstance(event, LLMCallCompletedEvent) and event.usage:
            self._usages.append(event.usage)
        if self._speech:
            yield from self._speech.take(source, event)
        if self._wants_progress:
            yield from self._progress(source, event)
        if isinstance(event, TaskCompletedEvent) and self._on_task:
            yield from self._on_task(source, event.output)

    def usage(self) -> Iterator[TaskMetadata]:
        """Yield the token usage of all model calls, if the models told."""
        if total := self.total():
            yield TaskMetadata({"usage": total})

    def total(self) -> Mapping[str, int]:
        """Return the same as numbers.

        It is made of events: what a model object counts is for all runs that share it.
        """
        calls = [UsageMetrics.from_provider_dict(dict(usage)) for usage in self._usages]
        total = UsageMetrics()
        for call in filter(None, calls):
            total.add_usage_metrics(call)
        if not any(calls) and not self._before:
            return {}
        return {
            name: number + self._before.get(name, 0)
            for name, number in (
                ("input_tokens", total.prompt_tokens),
                ("output_tokens", total.completion_tokens),
                ("total_tokens", total.total_tokens),
            )
        }

    def _progress(self, source: Any, event: Any) -> Iterator[AgentEvent]:
        match event:
            case TaskStartedEvent():
                yield _step("started", source)
            case TaskCompletedEvent():
                yield _step("finished", source)
            case AgentExecutionStartedEvent():
                yield Progress(f"working: {event.agent.role}", {"agent": event.agent.role})
            case MethodExecutionStartedEvent() if not is_internal(source):
                yield Progress(f"started: {event.method_name}", {"method": event.method_name})
            case MethodExecutionFinishedEvent() if not is_internal(source):
                yield Progress(f"finished: {event.method_name}", {"method": event.method_name})
            case ToolUsageStartedEvent():
                yield ToolCall(event.event_id, event.tool_name, tool_arguments(event.tool_args))
            case ToolUsageFinishedEvent():
                yield ToolResult(_call_id(event), event.tool_name, as_json(event.output))
            case ToolUsageErrorEvent():  # the error's text may hold anything
                yield ToolResult(_call_id(event), event.tool_name, is_error=True)
            case LLMStreamChunkEvent() if self._tokens and event.chunk:
                yield Progress(event.chunk, {"token": event.chunk, "agent": event.agent_role})


def _step(what: str, task: Task) -> Progress:
    role = task.agent.role if task.agent else None
    # A task's description is a prompt and not told.
    return Progress(f"{what}: {task.name or role or 'task'}", {"task": task.name, "agent": role})


def _call_id(event: ToolUsageFinishedEvent | ToolUsageErrorEvent) -> str:
    return event.started_event_id or ""
