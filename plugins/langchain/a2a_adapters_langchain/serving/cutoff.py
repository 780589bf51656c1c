"""What a thread tells of a run that was cut off: its process is gone, its checkpoints are not."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from langgraph.types import StateSnapshot

from a2a_adapters import without_reasoning

if TYPE_CHECKING:
    from langchain_core.messages.ai import UsageMetadata
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import PregelTask

    from a2a_adapters import AgentRequest
    from a2a_adapters_langchain.serving.speakers import MaySpeak

POSITION = "position"
"""Key in a question's metadata: where the graph had come to."""

_RESUME = "__resume__"
"""The channel in which LangGraph keeps the answers that a node was given."""


FINISHED = object()
"""In place of a graph's input: there is nothing left to run."""


@dataclass(slots=True)
class CutOffRun:
    """A run as its process has left it."""

    begin: object
    """The graph's input that goes on with it, or the event that does."""
    values: Any
    """The graph's state."""
    first_values: Mapping[str, Any] = field(default_factory=dict)
    """The state with which the run began."""
    finished: list[PregelTask] = field(default_factory=list)
    """The nodes that it had finished, in their order."""

    def written(self) -> set[str]:
        """Return the keys of the state that they wrote."""
        results = (task.result for task in self.finished)
        return {key for result in results if isinstance(result, Mapping) for key in result}

    def usages(self) -> list[UsageMetadata]:
        """Return the token usage of the model calls whose messages they wrote."""
        messages = (item for task in self.finished for item in _items(task.result))
        return [
            message.usage_metadata
            for message in messages
            if isinstance(message, AIMessage) and message.usage_metadata
        ]

    def said(self, stored: str, may_speak: MaySpeak) -> list[str]:
        """Return the messages that they said, by what was stored of the run's text.

        The end of that may be missing, or be of a node that had not finished.
        """
        cursor = 0
        messages: list[str] = []
        for task in self.finished:
            if not may_speak(f"{task.name}:{task.id}"):
                continue
            for text, is_streamed in _texts(task.result):
                place = stored.find(text, cursor)
                rest = stored[cursor:].strip()
                if place >= 0:
                    before = stored[cursor:place].strip()
                    messages += [before, text] if before else [text]
                    cursor = place + len(text)
                elif (rest or is_streamed) and text.startswith(rest):
                    messages.append(text)
                    cursor = len(stored)
        return messages


def has_begun(state: StateSnapshot, request: AgentRequest) -> bool:
    """Tell whether the last run of a thread was one of the request's task."""
    return (state.metadata or {}).get("task_id") == request.task_id


async def position_of(graph: Any, config: RunnableConfig) -> str:
    """Return where a graph has come to, in other words for every answer that a node has taken."""
    state = await graph.aget_state(_plain(config), subgraphs=True)
    return f"{_checkpoint_id(state)}:{await _answers_taken(graph.checkpointer, state)}"


async def cut_off_run(
    graph: Any, config: RunnableConfig, request: AgentRequest, now: StateSnapshot, begin: object
) -> CutOffRun:
    """Return the run of a request, with the nodes that it had finished."""
    run = CutOffRun(begin, now.values)
    asked_at, _, _ = str(request.resume_metadata.get(POSITION, "")).partition(":")
    async for state in graph.aget_state_history(_plain(config)):
        if not has_begun(state, request):
            break
        was_asked_here = _checkpoint_id(state) == asked_at
        done = [
            task
            for task in state.tasks
            if task.result is not None and (task.interrupts or not was_asked_here)
        ]
        run.finished[:0] = done
        is_input = (state.metadata or {}).get("source") == "input"
        if isinstance(state.values, Mapping) and not is_input:
            run.first_values = state.values
        if was_asked_here or is_input:
            break
    return run


def _plain(config: RunnableConfig) -> RunnableConfig:
    """Return a run's configuration without its callbacks."""
    return {"configurable": config["configurable"]}


def _checkpoint_id(state: StateSnapshot) -> str:
    return str(state.config["configurable"].get("checkpoint_id", ""))


async def _answers_taken(saver: Any, state: StateSnapshot) -> int:
    found = await saver.aget_tuple(state.config)
    writes = (found.pending_writes or ()) if found else ()
    taken = [value for _, channel, value in writes if channel == _RESUME]
    count = sum(len(value) if isinstance(value, list) else 1 for value in taken)
    for task in state.tasks:
        if isinstance(task.state, StateSnapshot):
            count += await _answers_taken(saver, task.state)
    return count


def _texts(result: object) -> Iterator[tuple[str, bool]]:
    """Yield the texts in a node's result; whether a model made them, which streams them."""
    for item in _items(result):
        if isinstance(item, AIMessage):
            text, is_streamed = str(item.text), _is_of_model(item)
        elif isinstance(item, str):
            text, is_streamed = item, False
        else:
            continue
        if text := without_reasoning(text).strip():
            yield text, is_streamed


def _items(result: object) -> Iterator[object]:
    """Yield what a node has written."""
    for value in result.values() if isinstance(result, Mapping) else [result]:
        yield from value if isinstance(value, list) else [value]


def _is_of_model(message: AIMessage) -> bool:
    """Whether a model made a message: those that a node makes have no id, or get a UUID."""
    if message.id is None:
        return False
    try:
        uuid.UUID(message.id)
    except ValueError:
        return True
    return False
