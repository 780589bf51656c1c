"""Recovers runs of dead processes from the checkpoints of their threads, and repairs threads."""

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
    from a2a_adapters_langchain.serving.answer_nodes import IsAnswer


POSITION = "position"
"""Key in a question's metadata: the position of the graph when it asked."""

_RESUME = "__resume__"
"""The channel in which LangGraph stores the replies to interrupts."""


FINISHED = object()
"""Takes the place of a graph's input if there is nothing left to run."""


@dataclass(slots=True)
class OrphanedRun:
    """A run whose process died.

    Attributes:
        begin: The graph's input that resumes the run, or the event that answers.
        values: The graph's state.
        first_values: The state at the beginning of the run.
        finished: The finished nodes, in order.
    """

    begin: object
    values: Any
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


def belongs_to(state: StateSnapshot, request: AgentRequest) -> bool:
    """Whether the last run of a thread belongs to the task of the request."""
    return (state.metadata or {}).get("task_id") == request.task_id


async def has_run_nodes(graph: Any, state: StateSnapshot) -> bool:
    """Whether a node may have run, and not only LangGraph's own first step."""
    if (state.metadata or {}).get("source") != "input":
        return True
    if START in graph.nodes:
        return False
    found = await graph.checkpointer.aget_tuple(state.config)  # workflow tasks are not steps
    return bool(found and found.pending_writes)


async def position_of(graph: Any, config: RunnableConfig) -> str:
    """Return the position of a graph: it changes when a node receives a reply or finishes."""
    state = await graph.aget_state(_plain(config), subgraphs=True)
    return await _position(graph.checkpointer, state)


async def is_interrupted(graph: Any, config: RunnableConfig) -> bool:
    """Whether the run stopped to ask: all remaining nodes wait for a reply.

    If the state is ambiguous, the answer is no. The graph then continues and asks again, because
    LangGraph keeps an interrupt, even a resolved one, until its node has finished.
    """
    state = await graph.aget_state(_plain(config), subgraphs=True)
    return await _waits_for_reply(graph.checkpointer, state) or await _at_breakpoint(graph, state)


async def orphaned_run(
    graph: Any, config: RunnableConfig, request: AgentRequest, now: StateSnapshot, begin: object
) -> OrphanedRun:
    """Return the run of a request with its finished nodes."""
    run = OrphanedRun(begin, now.values)
    asked_at, _, _ = str(request.resume_metadata.get(POSITION, "")).partition(":")
    async for state in graph.aget_state_history(_plain(config)):
        if not belongs_to(state, request):
            break
        was_asked_here = _checkpoint_id(state) == asked_at
        run.finished[:0] = [
            task
            for task in state.tasks
            if task.result is not None and (task.interrupts or not was_asked_here)
        ]
        is_input = (state.metadata or {}).get("source") == "input"
        if isinstance(state.values, Mapping) and not is_input:
            run.first_values = state.values
        if was_asked_here or is_input:
            break
    return run


def _plain(config: RunnableConfig) -> RunnableConfig:
    """Return the configuration without callbacks, which stop everything after a cancel."""
    return {"configurable": config["configurable"]}


def _checkpoint_id(state: StateSnapshot) -> str:
    return str(state.config["configurable"].get("checkpoint_id", ""))


async def _position(saver: Any, state: StateSnapshot) -> str:
    """Return the checkpoint id and the numbers of replies and finished nodes since then."""
    finished = len(state.tasks) - len(state.next)
    position = f"{_checkpoint_id(state)}:{await _reply_count(saver, state)}:{finished}"
    inner = [await _position(saver, each) for each in _subgraphs(state.tasks)]
    return ",".join([position, *inner])


async def _reply_count(saver: Any, state: StateSnapshot) -> int:
    found = await saver.aget_tuple(state.config)
    writes = (found.pending_writes or ()) if found else ()
    replies = [value for _, channel, value in writes if channel == _RESUME]
    return sum(len(value) if isinstance(value, list) else 1 for value in replies)


async def _waits_for_reply(saver: Any, state: StateSnapshot) -> bool:
    """Whether each unfinished node waits at an interrupt without a reply."""
    asking = sum(bool(task.interrupts) for task in state.tasks)
    if not asking or asking < len(state.next) or await _reply_count(saver, state):
        return False
    inner = _subgraphs(task for task in state.tasks if task.interrupts)
    return all([await _waits_for_reply(saver, each) for each in inner if each.tasks])


async def _at_breakpoint(graph: Any, state: StateSnapshot) -> bool:
    """Whether a graph stopped before or after a node (`interrupt_before`, `interrupt_after`)."""
    if not state.next or len(state.next) < len(state.tasks):
        return False
    if _has_node(state, graph.interrupt_before_nodes):
        return True
    if not graph.interrupt_after_nodes or state.parent_config is None:
        return False
    return _has_node(await graph.aget_state(state.parent_config), graph.interrupt_after_nodes)


def _has_node(state: StateSnapshot, nodes: Sequence[str] | Literal["*"]) -> bool:
    """Whether one of the nodes is part of a step; `*` is any but LangGraph's own."""
    names = {task.name for task in state.tasks} - {START}
    return bool(names if nodes == "*" else names.intersection(nodes))


def _subgraphs(tasks: Iterable[PregelTask]) -> list[StateSnapshot]:
    return [task.state for task in tasks if isinstance(task.state, StateSnapshot)]


def _texts(result: object) -> Iterator[tuple[str, bool]]:
    """Yield the texts in a node's result, and whether each was made by a model and so streamed."""
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
    """Yield the values that a node wrote."""
    for value in result.values() if isinstance(result, Mapping) else [result]:
        yield from value if isinstance(value, list) else [value]


def _is_of_model(message: AIMessage) -> bool:
    """Whether a model made the message: messages of nodes have no id or a UUID."""
    if message.id is None:
        return False
    try:
        uuid.UUID(message.id)
    except ValueError:
        return True
    return False


_CANCELLED = "The tool call was cancelled."

logger = logging.getLogger(__name__)


async def repair_thread(graph: Any, config: RunnableConfig) -> None:
    """Drop the remaining steps of an interrupted run and answer its open tool calls.

    Models refuse a conversation with an unanswered tool call, so the next turn would fail.
    """
    thread = _plain(config)
    try:
        state = await graph.aget_state(thread)
        if not state.tasks:
            return
        node = state.tasks[0].name
        # Keeps the results of finished parallel nodes, which may schedule new steps.
        await graph.aupdate_state(thread, None, as_node=END)
        state = await graph.aget_state(thread)
        steps = [[StateUpdate(update, node)] for update in _results_of_open_calls(state.values)]
        if steps or state.next:
            await graph.abulk_update_state(thread, [*steps, [StateUpdate(None, END)]])
    except Exception:  # must not hide the error or the cancel that ended the run
        logger.exception("could not repair the thread of an interrupted run")


def _results_of_open_calls(values: object) -> Iterator[dict[str, list[ToolMessage]]]:
    for key, messages in values.items() if isinstance(values, Mapping) else ():
        if isinstance(messages, list) and (call_ids := _open_calls(messages)):
            yield {
                key: [
                    ToolMessage(_CANCELLED, tool_call_id=each, status="error") for each in call_ids
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
