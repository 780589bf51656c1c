"""What a thread tells of a run that was cut off: its process is gone, its checkpoints are not."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.constants import END, START
from langgraph.types import StateSnapshot, StateUpdate

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


async def has_started(graph: Any, state: StateSnapshot) -> bool:
    """Whether a node's turn has come in a run, and not only LangGraph's own first step."""
    if (state.metadata or {}).get("source") != "input":
        return True
    if START in graph.nodes:
        return False
    found = await graph.checkpointer.aget_tuple(state.config)  # a workflow's tasks have no steps
    return bool(found and found.pending_writes)


async def position_of(graph: Any, config: RunnableConfig) -> str:
    """Return how far a graph has come: it differs once a node took an answer or finished."""
    state = await graph.aget_state(_plain(config), subgraphs=True)
    return await _position(graph.checkpointer, state)


async def is_asking(graph: Any, config: RunnableConfig) -> bool:
    """Whether a graph that was cut off had stopped to ask: all it has left to do waits for that.

    If the state cannot tell, it had not. It then runs on, and asks again: LangGraph keeps an
    interrupt until its node has finished, also if it was answered.
    """
    state = await graph.aget_state(_plain(config), subgraphs=True)
    return await _is_interrupted(graph.checkpointer, state) or await _at_breakpoint(graph, state)


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


async def _position(saver: Any, state: StateSnapshot) -> str:
    """Return the checkpoint and how many answers and nodes came after it; subgraphs likewise."""
    finished = len(state.tasks) - len(state.next)
    position = f"{_checkpoint_id(state)}:{await _answers_taken(saver, state)}:{finished}"
    inner = [await _position(saver, each) for each in _subgraphs(state.tasks)]
    return ",".join([position, *inner])


async def _answers_taken(saver: Any, state: StateSnapshot) -> int:
    found = await saver.aget_tuple(state.config)
    writes = (found.pending_writes or ()) if found else ()
    taken = [value for _, channel, value in writes if channel == _RESUME]
    return sum(len(value) if isinstance(value, list) else 1 for value in taken)


async def _is_interrupted(saver: Any, state: StateSnapshot) -> bool:
    """Whether every unfinished node waits at an interrupt that has no answer."""
    asking = sum(bool(task.interrupts) for task in state.tasks)
    if not asking or asking < len(state.next) or await _answers_taken(saver, state):
        return False
    inner = _subgraphs(task for task in state.tasks if task.interrupts)
    return all([await _is_interrupted(saver, each) for each in inner if each.tasks])


async def _at_breakpoint(graph: Any, state: StateSnapshot) -> bool:
    """Whether a graph stopped before or after a node (`interrupt_before`, `interrupt_after`)."""
    if not state.next or len(state.next) < len(state.tasks):
        return False
    if _names(state, graph.interrupt_before_nodes):
        return True
    if not graph.interrupt_after_nodes or state.parent_config is None:
        return False
    return _names(await graph.aget_state(state.parent_config), graph.interrupt_after_nodes)


def _names(state: StateSnapshot, nodes: Sequence[str] | Literal["*"]) -> bool:
    """Whether one of these nodes is among those of a step; `*` is all but LangGraph's own."""
    names = {task.name for task in state.tasks} - {START}
    return bool(names if nodes == "*" else names.intersection(nodes))


def _subgraphs(tasks: Iterable[PregelTask]) -> list[StateSnapshot]:
    return [task.state for task in tasks if isinstance(task.state, StateSnapshot)]


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


_NOT_RUN = "The tool call was cancelled."

logger = logging.getLogger(__name__)


async def repair_thread(graph: Any, config: RunnableConfig) -> None:
    """Drop the steps that were left to do and answer tool calls that were left open.

    A model refuses a conversation in which a tool call has no result, so without this the
    next turn would fail.
    """
    # Without the run's callbacks: those stop whatever goes on after a cancel.
    thread = {"configurable": config["configurable"]}
    try:
        state = await graph.aget_state(thread)
        if not state.tasks:
            return
        node = state.tasks[0].name
        # Keeps what parallel nodes had finished, which may leave new steps to do.
        await graph.aupdate_state(thread, None, as_node=END)
        state = await graph.aget_state(thread)
        steps = [[StateUpdate(update, node)] for update in _results_of_open_calls(state.values)]
        if steps or state.next:
            await graph.abulk_update_state(thread, [*steps, [StateUpdate(None, END)]])
    except Exception:  # the run's own end, a cancel or an error, is what matters
        logger.exception("could not repair the thread of a run that was cut off")


def _results_of_open_calls(values: object) -> Iterator[dict[str, list[ToolMessage]]]:
    if not isinstance(values, Mapping):
        return
    for key, messages in values.items():
        if isinstance(messages, list) and (open_calls := _open_calls(messages)):
            yield {
                key: [
                    ToolMessage(_NOT_RUN, tool_call_id=call_id, status="error")
                    for call_id in open_calls
                ]
            }


def _open_calls(messages: Sequence[object]) -> list[str]:
    """Return the ids of the last tool calls that have no result."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            ids = [call["id"] or "" for call in message.tool_calls]
            return [call_id for call_id in ids if call_id not in answered]
        elif isinstance(message, BaseMessage):
            return []
    return []
