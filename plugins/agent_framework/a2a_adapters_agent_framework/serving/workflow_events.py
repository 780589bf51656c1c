"""Converts the events of a workflow to adapter events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_framework import AgentResponse, AgentResponseUpdate, Content, Message

from a2a_adapters import AgentEvent, Progress, as_output
from a2a_adapters_agent_framework.serving.events import RunEvents
from a2a_adapters_agent_framework.serving.requests import as_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_framework import WorkflowEvent


class WorkflowEvents:
    """Converts the events of one run of a workflow.

    The answer is what the workflow outputs: words token by token, other values as data. Each
    executor that begins, and what others than the output's executors say, is progress.

    Attributes:
        requests: What the run asks its caller, by the id of the request, as it is stored.
        is_filtered: Whether a content filter stopped the answer.

    Args:
        wants_progress: Whether the client follows the progress.
    """

    def __init__(self, *, wants_progress: bool) -> None:
        self._answer = RunEvents(wants_progress=wants_progress)
        self._wants_progress = wants_progress
        self._speaker = ""
        self.requests: dict[str, Mapping[str, Any]] = {}

    @property
    def is_filtered(self) -> bool:
        """Whether a content filter stopped the answer."""
        return self._answer.is_filtered

    def take(self, event: WorkflowEvent[Any]) -> Iterator[AgentEvent]:
        """Yield the adapter events for an event."""
        match event.type:
            case "executor_invoked" if self._wants_progress:
                yield Progress(event.executor_id or "", {"kind": "step"})
            case "output":
                if event.executor_id != self._speaker:
                    yield from self._answer.end_of_response()
                    self._speaker = event.executor_id or ""
                yield from self._output(event.data)
            case "request_info":
                self.requests[event.request_id] = as_request(event)

    def end(self) -> Iterator[AgentEvent]:
        """Yield the rest of the answer."""
        yield from self._answer.end_of_response()

    def _output(self, data: Any) -> Iterator[AgentEvent]:
        match data:
            case AgentResponseUpdate():
                yield from self._answer.take(data)
            case AgentResponse():
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
                yield output
