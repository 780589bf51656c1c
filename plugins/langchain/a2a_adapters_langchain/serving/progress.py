"""Reports the progress of a run to clients that follow it: tool calls, results and steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage

from a2a_adapters import Progress, ToolCall, ToolResult
from a2a_adapters.plugin import ProgressEvent, ToolCalls, as_json

if TYPE_CHECKING:
    from langchain_core.runnables.schema import StreamEvent

Namespace = tuple[str, ...]
"""The position of an event in nested graphs: a `node:task` for each level."""

INTERRUPT = "__interrupt__"
"""The node of a pause in the updates of a graph."""

_ALL = "__remove_all__"
"""The id with which a `RemoveMessage` of LangGraph, which chains do not need, removes all."""

_MODEL = "model"
_BEFORE_MODEL = ".before_model"
"""The node of `create_agent` that calls the model."""


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
        waits: Whether something may change or refuse tool calls and results of a graph, given by
            the nodes that lead to it. They are then reported together, in the form in which the
            model continues with them.
        shows_arguments: Whether tools get the arguments that the model has written.
        guarding_nodes: The nodes with which guardrails inspect messages. Calls that these answer
            were refused, and are not reported.
    """

    def __init__(
        self,
        waits: Callable[[tuple[str, ...]], bool] = lambda _: True,
        *,
        shows_arguments: bool = True,
        guarding_nodes: Collection[str] = (),
    ) -> None:
        self._guarding_nodes = guarding_nodes
        self._waits = waits
        self._shows_arguments = shows_arguments
        self._waiting: dict[Namespace, dict[object, BaseMessage]] = {}
        """The messages that are not reported yet, in their latest form, by graph and id."""
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
            messages = list(messages_in(update))
            if path in self._parents:
                for message in self._not_reported(messages):
                    yield from self._tool_events(message)
                continue
            if node == _MODEL:
                messages = _without_structured_output(messages)
            if node.endswith(_BEFORE_MODEL) and any(isinstance(m, AIMessage) for m in messages):
                self._waiting.get(namespace, {}).clear()  # a guard answers in place of the model
            if node in self._guarding_nodes:
                messages = self._guarded(namespace, messages)
            for message in messages:
                yield from self._message(namespace, message)

    def _guarded(self, namespace: Namespace, messages: list[BaseMessage]) -> list[BaseMessage]:
        """Leave out results by which a guard refuses calls; it may change or remove others."""
        waiting = self._waiting.get(namespace, {})
        known = {key for key, each in waiting.items() if isinstance(each, ToolMessage)}
        if any(each.id == _ALL for each in messages):
            waiting.clear()
        return [
            each
            for each in messages
            if not isinstance(each, ToolMessage) or each.tool_call_id in known
        ]

    def rest(self) -> Iterator[ProgressEvent]:
        """Report the events that have waited for the end of the run."""
        for waiting in self._waiting.values():
            yield from self._results(waiting)

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

    def _message(self, namespace: Namespace, message: BaseMessage) -> Iterator[ProgressEvent]:
        if not self._waits(_nodes(namespace)):
            yield from self._tool_events(message)
            return
        waiting = self._waiting.setdefault(namespace, {})
        match message:
            case ToolMessage():
                waiting[message.tool_call_id] = message
            case AIMessage():
                if message.id not in waiting:  # the model has continued
                    yield from self._results(waiting)
                waiting[message.id] = message
            case RemoveMessage():
                for key in [key for key, each in waiting.items() if each.id == message.id]:
                    del waiting[key]

    def _results(self, waiting: dict[object, BaseMessage]) -> Iterator[ProgressEvent]:
        """Report the waiting results, each after its call."""
        messages = list(waiting.values())
        calls = {
            call["id"]: call
            for message in messages
            if isinstance(message, AIMessage)
            for call in message.tool_calls
        }
        for message in messages:
            if isinstance(message, ToolMessage):
                if call := calls.get(message.tool_call_id):
                    yield from self._started(call)
                yield from self._tool_events(message)
                del waiting[message.tool_call_id]

    def _tool_events(self, message: BaseMessage) -> Iterator[ProgressEvent]:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                yield from self._started(call)
        elif isinstance(message, ToolMessage):
            yield from _finished(self._tools, message.tool_call_id, message.name or "", message)

    def _started(self, call: Mapping[str, Any]) -> list[ToolCall]:
        arguments = call["args"] if self._shows_arguments else None
        return self._tools.started(call["id"] or "", call["name"], arguments)


def _without_structured_output(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Leave out structured output, which a model writes as a call that the model's node answers."""
    answered = {each.tool_call_id for each in messages if isinstance(each, ToolMessage)}
    return [
        message
        for message in messages
        if isinstance(message, AIMessage)
        and answered.isdisjoint(call["id"] for call in message.tool_calls)
    ]


def _finished(tools: ToolCalls, call_id: str, name: str, output: object) -> list[ProgressEvent]:
    result = output.content if isinstance(output, ToolMessage) else output
    failed = isinstance(output, ToolMessage) and output.status == "error"
    return [*tools.finished(call_id, result, name=name, is_error=failed)]


def _nodes(namespace: Namespace) -> Namespace:
    return tuple(step.partition(":")[0] for step in namespace)


def messages_in(update: object) -> Iterator[BaseMessage]:
    """Yield the messages in a node's update, in any of its keys."""
    match update:
        case BaseMessage():
            yield update
        case Mapping():
            for value in update.values():
                yield from messages_in(value)
        case list() | tuple():
            for value in update:
                if isinstance(value, (BaseMessage, Mapping)):
                    yield from messages_in(value)
