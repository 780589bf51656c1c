"""Converts the events and results of crewai: progress, token usage and outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias

from crewai import Crew, CrewOutput, Task, TaskOutput
from crewai.agents.agent_builder.base_agent import BaseAgent
from crewai.events.types.agent_events import (
    AgentExecutionStartedEvent,
    LiteAgentExecutionStartedEvent,
)
from crewai.events.types.crew_events import CrewKickoffStartedEvent
from crewai.events.types.flow_events import (
    MethodExecutionFinishedEvent,
    MethodExecutionStartedEvent,
)
from crewai.events.types.llm_events import (
    LLMCallCompletedEvent,
    LLMCallStartedEvent,
    LLMStreamChunkEvent,
)
from crewai.events.types.task_events import TaskCompletedEvent, TaskStartedEvent
from crewai.events.types.tool_usage_events import (
    ToolUsageErrorEvent,
    ToolUsageFinishedEvent,
    ToolUsageStartedEvent,
)
from crewai.flow.human_feedback import HumanFeedbackResult
from crewai.lite_agent_output import LiteAgentOutput
from crewai.types.usage_metrics import UsageMetrics
from pydantic import BaseModel

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    InputRequired,
    Output,
    Progress,
    TaskMetadata,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from a2a_adapters.plugin import JSON, as_json, as_output, tool_arguments
from a2a_adapters_crewai.serving.guardrails import (
    has_argument_hooks,
    has_result_hooks,
    has_run_hooks,
    is_checked_call,
    is_guarded,
    wraps_calls,
)
from a2a_adapters_crewai.serving.streaming import AnswerStream, is_internal

OnTask: TypeAlias = Callable[[Task, TaskOutput], Output | None]


def result_output(
    result: object, *, name: str = "", schema: Mapping[str, JSON] | None = None
) -> Output | None:
    """Return the result of a crew, task, flow or agent as an artifact; None if it is empty.

    Args:
        result: The result.
        name: The artifact's name; by default `answer` for text.
        schema: The JSON schema of a task's `output_json`.
    """
    return as_output(plain(result), name=name, schema=schema)


def plain(result: Any) -> Any:
    """Return a result, or an object that has some, without the prompts that it came from."""
    match result:
        case HumanFeedbackResult(output=output):
            return plain(output)
        case CrewOutput() | LiteAgentOutput() | TaskOutput():
            values = (result.pydantic, getattr(result, "json_dict", None), result.raw)
            return next(value for value in values if value is not None)
        case list() | tuple():
            return [plain(each) for each in result]
        case dict():
            return {name: plain(each) for name, each in result.items()}
        case _ if _has_results(found := _fields(result)):
            return plain(found)
    return result


def _has_results(value: Any) -> bool:
    match value:
        case CrewOutput() | LiteAgentOutput() | TaskOutput():
            return True
        case list() | tuple():
            return any(map(_has_results, value))
        case dict():
            return any(map(_has_results, value.values()))
    return any(map(_has_results, _fields(value).values()))


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a model or dataclass, but not of crews, whose parts refer to them."""
    if isinstance(value, BaseModel) and not isinstance(value, BaseAgent | Crew | Task):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return {}


def task_output(output: TaskOutput) -> Output | None:
    """Return the output of one task, named after the task or, if that has no name, its agent."""
    name = output.name if output.name and output.name != output.description else ""
    return result_output(output, name=name or output.agent)


class RunEvents:
    """Converts the result of one run, and its events, which come from any of its threads.

    Args:
        request: The request.
        is_held: Whether the server holds the answer's text back until the end of the run.
        tokens: Whether the text of models is reported as progress, as it is produced, until
            something starts that may change or block a text.
        tool_data: Whether arguments and results of tools are reported, until then.
        on_task: Makes the artifact of a finished task, unless hooks, or a class of tasks around
            it, may change or block it.

    Attributes:
        answer: Streams the answer.
    """

    def __init__(
        self,
        request: AgentRequest,
        *,
        is_held: bool,
        tokens: bool,
        tool_data: bool,
        on_task: OnTask | None,
    ) -> None:
        self.answer = AnswerStream(is_held=is_held)
        self._wants_progress = request.wants_progress
        self._tokens, self._tool_data = tokens, tool_data
        self._on_task = on_task
        self._usage_before = TokenUsage.of(request.resume_metadata)
        self._usages: list[Mapping[str, Any]] = []

    def take(self, source: Any, event: Any) -> Iterator[AgentEvent]:
        """Yield the adapter events for an event of crewai."""
        if isinstance(event, LLMCallCompletedEvent) and event.usage:
            self._usages.append(event.usage)
        yield from self.answer.take(source, event)
        if self._wants_progress:
            if _is_checked(source, event):
                self._tokens = self._tool_data = False
            yield from self._progress(source, event)
        if self._on_task and isinstance(event, TaskCompletedEvent):
            is_final = not (has_run_hooks() or wraps_calls(source))
            yield from filter(None, [self._on_task(source, event.output)] if is_final else [])

    def finish(self, result: Output | InputRequired | None) -> Iterator[AgentEvent]:
        """Yield the rest of the answer, or the question of a stored flow, with the token usage."""
        usage = self._usage()
        metadata: dict[str, Any] = usage.as_metadata() if usage else {}
        if isinstance(result, InputRequired):
            yield from self.answer.withdraw()
            yield replace(result, metadata={**result.metadata, **metadata})
            return
        yield from self.answer.finish(result)
        if metadata:
            yield TaskMetadata(metadata)

    def _usage(self) -> TokenUsage | None:
        """Return the token usage of all model calls; None if no model reported any.

        It is counted by events, because a model object's counts include other runs.
        """
        total = self._usage_before
        for call in self._usages:
            if metrics := UsageMetrics.from_provider_dict(dict(call)):
                total = (total or TokenUsage()) + TokenUsage(
                    metrics.prompt_tokens, metrics.completion_tokens, metrics.total_tokens
                )
        return total

    def _progress(self, source: Any, event: Any) -> Iterator[AgentEvent]:
        match event:
            case TaskStartedEvent():
                yield _task_progress("started", source)
            case TaskCompletedEvent():
                yield _task_progress("finished", source)
            case AgentExecutionStartedEvent():
                yield Progress(f"working: {event.agent.role}", {"agent": event.agent.role})
            case MethodExecutionStartedEvent() if not is_internal(source):
                yield Progress(f"started: {event.method_name}", {"method": event.method_name})
            case MethodExecutionFinishedEvent() if not is_internal(source):
                yield Progress(f"finished: {event.method_name}", {"method": event.method_name})
            case ToolUsageStartedEvent():
                # crewai may report arguments and results before its hooks have checked them.
                is_shown = self._tool_data and not has_argument_hooks()
                arguments = tool_arguments(event.tool_args) if is_shown else None
                yield ToolCall(event.event_id, event.tool_name, arguments)
            case ToolUsageFinishedEvent(started_event_id=call_id):
                is_shown = self._tool_data and not has_result_hooks()
                result = as_json(event.output) if is_shown else None
                yield ToolResult(call_id or "", event.tool_name, result)
            case ToolUsageErrorEvent(started_event_id=call_id):  # its text may be confidential
                yield ToolResult(call_id or "", event.tool_name, is_error=True)
            case LLMStreamChunkEvent() if self._tokens and event.chunk:
                yield Progress(event.chunk, {"token": event.chunk, "agent": event.agent_role})


def _is_checked(source: object, event: object) -> bool:
    """Whether something starts whose text may be changed or blocked when it is complete."""
    match source, event:
        case _, LLMCallStartedEvent():
            return is_checked_call(source)
        case _, AgentExecutionStartedEvent(agent=agent):
            return is_guarded(agent)
        case Crew(tasks=tasks), CrewKickoffStartedEvent():
            return any(map(is_guarded, (source, *tasks)))
        case _, TaskStartedEvent() | LiteAgentExecutionStartedEvent():
            return is_guarded(source)
    return False


def _task_progress(change: str, task: Task) -> Progress:
    role = task.agent.role if task.agent else None
    # A task's description is a prompt and must not be sent.
    return Progress(f"{change}: {task.name or role or 'task'}", {"task": task.name, "agent": role})
