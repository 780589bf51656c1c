"""Reports the progress of a run to clients that follow it: tool calls, results and steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from a2a_adapters import Progress, ToolCall, ToolResult
from a2a_adapters.plugin import ProgressEvent, ToolCalls, as_json

if TYPE_CHECKING:
    from langchain_core.runnables.schema import StreamEvent

Namespace = tuple[str, ...]
"""The position of an event in nested graphs: a `node:task` for each level."""

INTERRUPT = "__interrupt__"
"""The node of a pause in the updates of a graph."""


def runnable_progress(event: StreamEvent) -> list[ProgressEvent]:
    """Convert an event of `astream_events`: tool calls, retrievals and custom events."""
    data: Mapping[str, Any] = event["data"]
    call_id, name = event["run_id"], event["name"]
    match event["event"]:
        case "on_tool_start":
            return [ToolCall(call_id, name, as_json(data.get("input")))]
        case "on_tool_end":
            return _finished(ToolCalls(), call_id, name, data.get("output"))
        case "on_tool_error":
            return [ToolResult(call_id, name, is_error=True)]
        case "on_retriever_start":
            return [Progress(f"retrieving: {name}")]
        case "on_custom_event":
            return [Progress(name, as_json(data))]
    return []


class GraphProgress:
    """The progress of one graph run. Each tool call and each result is reported once.

    Args:
        waits: Whether to report calls with their results, since guardrails may change them before.
    """

    def __init__(self, *, waits: bool = False) -> None:
        self._waits = waits
        self._waiting: dict[str | None, AIMessage] = {}
        """The messages whose calls are not reported yet, in their latest form, by id."""
        self._tools = ToolCalls()
        self._parents: set[Namespace] = set()

    def custom(self, value: object) -> Progress:
        """Convert a value that a node or tool passed to `get_stream_writer`."""
        return Progress(value) if isinstance(value, str) else Progress(data=as_json(value))

    def updates(self, namespace: Namespace, updates: Mapping[str, Any]) -> Iterator[ProgressEvent]:
        """Convert the updates of a step: its nodes and their tool messages."""
        self._parents.add(_nodes(namespace))
        for node, update in updates.items():
            if node == INTERRUPT:  # the question says it
                continue
            path = (*_nodes(namespace), node)
            yield Progress(f"finished: {'/'.join(path)}")
            messages = list(_messages(update))
            if path in self._parents:
                messages = self._not_reported(messages)
            for message in messages:
                yield from self._tool_events(message)

    def _not_reported(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """Return the results of tools that ran a graph themselves.

        All other messages of a node that runs a graph are messages of that graph: it reported
        those of this turn itself, and those of earlier turns are old.
        """
        repeated = {
            call["id"]
            for message in messages
            if isinstance(message, AIMessage)
            for call in message.tool_calls
            if call["id"] not in self._tools
        }
        return [
            message
            for message in messages
            if isinstance(message, ToolMessage) and message.tool_call_id not in repeated
        ]

    def _tool_events(self, message: BaseMessage) -> Iterator[ProgressEvent]:
        if isinstance(message, AIMessage) and self._waits:
            self._waiting[message.id] = message
        elif isinstance(message, AIMessage):
            for call in message.tool_calls:
                yield from self._tools.started(call["id"] or "", call["name"], call["args"])
        elif isinstance(message, ToolMessage):
            calls = [call for each in self._waiting.values() for call in each.tool_calls]
            for call in calls:
                if call["id"] == message.tool_call_id:
                    yield from self._tools.started(call["id"] or "", call["name"], call["args"])
            yield from _finished(self._tools, message.tool_call_id, message.name or "", message)


def _finished(tools: ToolCalls, call_id: str, name: str, output: object) -> list[ProgressEvent]:
    result = output.content if isinstance(output, ToolMessage) else output
    failed = isinstance(output, ToolMessage) and output.status == "error"
    return [*tools.finished(call_id, result, name=name, is_error=failed)]


def _nodes(namespace: Namespace) -> Namespace:
    return tuple(step.partition(":")[0] for step in namespace)


def _messages(update: object) -> Iterator[BaseMessage]:
    """Yield the messages in a node's update, in any of its keys."""
    match update:
        case BaseMessage():
            yield update
        case Mapping():
            for value in update.values():
                yield from _messages(value)
        case list() | tuple():
            for value in update:
                if isinstance(value, (BaseMessage, Mapping)):
                    yield from _messages(value)
