"""News of a run, for clients that follow it: tool calls, their results and steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from a2a_adapters import Progress, ProgressEvent, ToolCall, ToolResult, as_json

if TYPE_CHECKING:
    from langchain_core.runnables.schema import StreamEvent

Namespace = tuple[str, ...]
"""Where in nested graphs something happened: a `node:task` per level."""


def runnable_news(event: StreamEvent) -> list[ProgressEvent]:
    """Return what an event of `astream_events` tells of tools and the code's own events."""
    data: Mapping[str, Any] = event["data"]
    call_id, name = event["run_id"], event["name"]
    match event["event"]:
        case "on_tool_start":
            return [ToolCall(call_id, name, as_json(data.get("input")))]
        case "on_tool_end":
            return [_result(call_id, name, data.get("output"))]
        case "on_tool_error":
            return [ToolResult(call_id, name, is_error=True)]
        case "on_retriever_start":
            return [Progress(f"retrieving: {name}")]
        case "on_custom_event":
            return [Progress(name, as_json(data))]
    return []


class GraphNews:
    """What one run of a graph tells, each tool call and result once."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._answered: set[str] = set()
        self._parents: set[Namespace] = set()

    def custom(self, news: object) -> Progress:
        """Return what a node or tool said by `get_stream_writer`."""
        return Progress(news) if isinstance(news, str) else Progress(data=as_json(news))

    def updates(self, namespace: Namespace, updates: Mapping[str, Any]) -> Iterator[ProgressEvent]:
        """Yield the steps that were made and the tool messages in them."""
        self._parents.add(_names(namespace))
        for node, update in updates.items():
            path = (*_names(namespace), node)
            yield Progress(f"finished: {'/'.join(path)}")
            messages = list(_messages(update))
            if path in self._parents:
                messages = self._not_repeated(messages)
            for message in messages:
                yield from self._news(message)

    def _not_repeated(self, messages: list[BaseMessage]) -> list[BaseMessage]:
        """Return the results of tools that ran a graph themselves.

        Other messages of a node that runs a graph are that graph's: it has told those of this
        turn, and those of earlier turns are no news.
        """
        calls = {
            call["id"]
            for message in messages
            if isinstance(message, AIMessage)
            for call in message.tool_calls
        }
        repeated = calls - self._names.keys()
        return [
            message
            for message in messages
            if isinstance(message, ToolMessage) and message.tool_call_id not in repeated
        ]

    def _news(self, message: BaseMessage) -> Iterator[ProgressEvent]:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                call_id = call["id"] or ""
                if call_id not in self._names:
                    self._names[call_id] = call["name"]
                    yield ToolCall(call_id, call["name"], as_json(call["args"]))
        elif isinstance(message, ToolMessage) and message.tool_call_id not in self._answered:
            self._answered.add(message.tool_call_id)
            name = message.name or self._names.get(message.tool_call_id, "")
            yield _result(message.tool_call_id, name, message)


def _result(call_id: str, name: str, output: object) -> ToolResult:
    if isinstance(output, ToolMessage):
        if output.status == "error":  # its text is mostly an exception's
            return ToolResult(call_id, name, is_error=True)
        return ToolResult(call_id, name, as_json(output.content))
    return ToolResult(call_id, name, as_json(output))


def _names(namespace: Namespace) -> Namespace:
    return tuple(step.partition(":")[0] for step in namespace)


def _messages(update: object) -> Iterator[BaseMessage]:
    """Yield the messages of a node's update, whatever keys hold them."""
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
