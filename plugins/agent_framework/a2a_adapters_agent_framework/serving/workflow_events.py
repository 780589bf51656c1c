"""Converts the events of a workflow to adapter events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent_framework import (
    AgentExecutorResponse,
    AgentResponse,
    AgentResponseUpdate,
    Content,
    Message,
)

from a2a_adapters import AgentEvent, Progress, TaskMetadata, TokenUsage
from a2a_adapters.plugin import ToolCalls, as_json, as_output
from a2a_adapters_agent_framework.serving.events import RunEvents
from a2a_adapters_agent_framework.serving.requests import as_request, is_approval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_framework import WorkflowEvent


class WorkflowEvents:
    """Converts the events of one run of a workflow.

    The answer is what the workflow outputs: words token by token, other values as data. Each
    executor that begins, and the tools of its agent, are progress. Tools of agents that do not
    output are only known when these have finished.

    Attributes:
        requests: What the run asks its caller, by the id of the request, as it is stored.
        unknown: The kind of a request that callers cannot answer, such as a sign-in; or "".
        is_filtered: Whether a content filter stopped the answer.
        is_limited: Whether an agent reached its limit of tool calls.

    Args:
        wants_progress: Whether the client follows the progress.
        checks_calls: Whether middleware may change the arguments of tools, which are then not
            reported: the events have those of the model.
    """

    def __init__(self, *, wants_progress: bool, checks_calls: bool = False) -> None:
        self._checks_calls = checks_calls
        self._answer = RunEvents(wants_progress=wants_progress)
        self._wants_progress = wants_progress
        self._speaker = ""
        self._speakers: set[str] = set()
        self._tools = ToolCalls()
        self._calls: dict[str, tuple[str, str]] = {}
        self._usage = TokenUsage()
        self.requests: dict[str, Mapping[str, Any]] = {}
        self.unknown = ""

    @property
    def is_filtered(self) -> bool:
        """Whether a content filter stopped the answer."""
        return self._answer.is_filtered

    @property
    def is_limited(self) -> bool:
        """Whether an agent reached its limit of tool calls."""
        return self._answer.is_limited

    def take(self, event: WorkflowEvent[Any]) -> Iterator[AgentEvent]:
        """Yield the adapter events for an event."""
        match event.type:
            case "executor_invoked" if self._wants_progress:
                yield Progress(event.executor_id or "", {"kind": "step"})
            case "executor_completed" if isinstance(event.data, list):
                yield from self._finished(event.executor_id or "", event.data)
            case "output":
                if event.executor_id != self._speaker:
                    yield from self._answer.end_of_response()
                    self._speaker = event.executor_id or ""
                yield from self._output(event.data)
            case "request_info" if isinstance(event.data, Content) and not is_approval(event.data):
                self.unknown = event.data.type
            case "request_info":
                self.requests[event.request_id] = as_request(event)

    def accepted(self) -> Iterator[AgentEvent]:
        """Yield the text so far as accepted."""
        yield from self._answer.accepted()

    def end(self) -> Iterator[AgentEvent]:
        """Yield the rest of the answer, and the usage of all agents."""
        yield from self._answer.end_of_response()
        if self._usage.total_tokens:
            yield TaskMetadata(self._usage.as_metadata())

    def _finished(self, executor: str, sent: list[Any]) -> Iterator[AgentEvent]:
        for item in sent:
            match item:
                case AgentExecutorResponse():
                    self._usage += _usage(item.agent_response)
                case AgentResponseUpdate() if executor not in self._speakers:
                    yield from self._tool_events(item)

    def _tool_events(self, update: AgentResponseUpdate) -> Iterator[AgentEvent]:
        for content in update.contents if self._wants_progress else ():
            key = content.call_id or ""
            name, arguments = self._calls.get(key, ("", ""))
            if content.type == "function_call":  # its arguments may arrive in pieces
                given = content.arguments or {}
                text = given if isinstance(given, str) else json.dumps(as_json(given))
                self._calls[key] = (name or content.name or "", arguments + text)
            elif content.type == "function_result" and key in self._calls:
                del self._calls[key]
                shown = None if self._checks_calls else arguments
                yield from self._tools.started(key, name, shown)
                failed = bool(content.exception)
                yield from self._tools.finished(key, content.result, is_error=failed)

    def _output(self, data: Any) -> Iterator[AgentEvent]:
        match data:
            case AgentResponseUpdate():
                self._speakers.add(self._speaker)
                yield from self._tool_events(data)
                yield from self._answer.take(data)
            case AgentResponse():
                yield from self._answer.take(data)
                for message in data.messages:
                    yield from self._output(message)
            case Message():
                for content in data.contents if data.role == "assistant" else ():
                    yield from self._answer.content(content)
                yield from self._answer.end_of_response()
            case str():
                yield from self._answer.content(Content.from_text(data))
                yield from self._answer.end_of_response()
            case [*_, Message()]:
                yield from self._output(data[-1])
            case _ if output := as_output(data):
                yield from self._answer.accepted()
                yield output


def _usage(response: AgentResponse) -> TokenUsage:
    used = response.usage_details or {}
    return TokenUsage(
        used.get("input_token_count") or 0,
        used.get("output_token_count") or 0,
        used.get("total_token_count") or 0,
    )
