"""Recovers runs of dead processes from the checkpoints of their threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from langgraph.constants import START

from a2a_adapters.plugin import without_reasoning
from a2a_adapters_langchain.serving.content import is_of_model
from a2a_adapters_langchain.serving.interrupts import asked_at, first_input
from a2a_adapters_langchain.serving.thread import checkpoint_id

if TYPE_CHECKING:
    from langchain_core.messages.ai import UsageMetadata
    from langgraph.types import PregelTask, StateSnapshot

    from a2a_adapters import AgentRequest
    from a2a_adapters_langchain.serving.answer_nodes import IsAnswer
    from a2a_adapters_langchain.serving.thread import GraphThread


FINISHED = object()
"""Takes the place of a graph's input if there is nothing left to run."""

ASKS_AGAIN = object()
"""Takes the place of a graph's input if it waits for a reply."""


@dataclass(slots=True)
class RunStart:
    """The start of a run: its input and, if it is resumed, the finished work of the dead process.

    Attributes:
        given: The graph's input, or the event that answers without a run.
        values: The graph's state.
        first_values: The state at the beginning of the run.
        finished: The finished nodes, in order.
    """

    given: object
    values: Any = None
    first_values: Mapping[str, Any] = field(default_factory=dict)
    finished: list[PregelTask] = field(default_factory=list)

    def written(self) -> set[str]:
        """Return the keys of the state that the finished nodes wrote."""
        results = (task.result for task in self.finished)
        return {key for result in results if isinstance(result, Mapping) for key in result}

    def usages(self) -> list[UsageMetadata]:
        """Return the token usage of the messages that the finished nodes wrote."""
        messages = (item for task in self.finished for item in _items(task.result))
        return [
            message.usage_metadata
            for message in messages
            if isinstance(message, AIMessage) and message.usage_metadata
        ]

    def texts(self, stored: str, is_answer: IsAnswer | None) -> list[str]:
        """Return the messages of the finished nodes that are part of the answer.

        `stored` is the stored text of the answer. Its end may be missing, or belong to a node
        that had not finished.
        """
        cursor = 0
        messages: list[str] = []
        for task in self.finished:
            if is_answer is None or not is_answer(f"{task.name}:{task.id}"):
                continue
            for text, is_streamed in _texts(task.result):
                start = stored.find(text, cursor)
                rest = stored[cursor:].strip()
                if start >= 0:
                    before = stored[cursor:start].strip()
                    messages += [before, text] if before else [text]
                    cursor = start + len(text)
                elif (rest or is_streamed) and text.startswith(rest):
                    messages.append(text)
                    cursor = len(stored)
        return messages


async def resumed_start(value: object, request: AgentRequest, thread: GraphThread) -> RunStart:
    """Return the start of the run of a dead process, which may not have begun."""
    now = await thread.state()
    if not _belongs_to(now, request):
        return RunStart(await first_input(value, request, thread, now))
    position = await thread.position()
    given: object = None
    if position and position == asked_at(request):  # the graph has not received the reply
        given = await first_input(None, request, thread, now)
    elif not now.tasks:  # `next` lacks tasks whose writes are stored, but not applied yet
        given = FINISHED
    elif await thread.is_interrupted():
        given = ASKS_AGAIN
    start = RunStart(given, now.values)
    asked_in, _, _ = asked_at(request).partition(":")
    async for state in thread.history():
        if not _belongs_to(state, request):
            break
        was_asked_here = checkpoint_id(state) == asked_in
        start.finished[:0] = [
            task
            for task in state.tasks
            if task.result is not None and (task.interrupts or not was_asked_here)
        ]
        is_input = (state.metadata or {}).get("source") == "input"
        if isinstance(state.values, Mapping) and not is_input:
            start.first_values = state.values
        if was_asked_here or is_input:
            break
    return start


async def has_run_nodes(request: AgentRequest, thread: GraphThread) -> bool:
    """Whether a node may have run since the message, and not only LangGraph's own first step."""
    state = await thread.state()
    if not _belongs_to(state, request):
        return False
    position = await thread.position()
    if position and position == asked_at(request):
        return False
    if (state.metadata or {}).get("source") != "input":
        return True
    if START in thread.graph.nodes:
        return False
    return bool(await thread.pending_writes(state))  # workflow tasks are not steps


def _belongs_to(state: StateSnapshot, request: AgentRequest) -> bool:
    """Whether the last run of a thread belongs to the task of the request."""
    return (state.metadata or {}).get("task_id") == request.task_id


def _texts(result: object) -> Iterator[tuple[str, bool]]:
    """Yield the texts in a node's result, and whether each was made by a model and so streamed."""
    for item in _items(result):
        if isinstance(item, AIMessage):
            text, is_streamed = str(item.text), is_of_model(item)
        elif isinstance(item, str):
            text, is_streamed = item, False
        else:
            continue
        if text := without_reasoning(text).strip():
            yield text, is_streamed


def _items(result: object) -> Iterator[object]:
    """Yield the values that a node wrote."""
    for value in result.values() if isinstance(result, Mapping) else [result]:
        yield from value if isinstance(value, list) else [value]
