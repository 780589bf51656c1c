"""Threads, the conversations of graphs: reads their states and repairs interrupted ones."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from langgraph.constants import END, START
from langgraph.types import Interrupt, PregelTask, StateSnapshot, StateUpdate
from langgraph_sdk.errors import NotFoundError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

_RESUME = "__resume__"
"""The channel in which LangGraph stores the replies to interrupts."""

_EMPTY = StateSnapshot({}, (), {}, None, None, None, (), ())
"""The state of a new thread."""

_CANCELLED = "The tool call was cancelled."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GraphThread:
    """The thread of a conversation.

    Attributes:
        graph: The graph of this run, with the checkpointer of the thread.
        config: The configuration of this run.
        is_durable: Whether the thread outlives the process.
    """

    graph: Any
    config: RunnableConfig
    is_durable: bool

    @property
    def has_breakpoints(self) -> bool:
        """Whether the graph may wait without an interrupt."""
        return bool(self.graph.interrupt_before_nodes or self.graph.interrupt_after_nodes)

    @property
    def _ids(self) -> RunnableConfig:
        """The configuration without callbacks, which stop everything after a cancel."""
        return {"configurable": self.config["configurable"]}

    async def state(self, *, subgraphs: bool = False) -> StateSnapshot:
        """Return the state of the graph, optionally with those of graphs within it."""
        if self.graph.checkpointer is False:
            return _EMPTY
        state: StateSnapshot = await self.graph.aget_state(self._ids, subgraphs=subgraphs)
        return state

    def history(self) -> AsyncIterator[StateSnapshot]:
        """Yield the states of the graph, the latest first."""
        states: AsyncIterator[StateSnapshot] = self.graph.aget_state_history(self._ids)
        return states

    async def position(self) -> str:
        """Return the graph's position: it changes when a node receives a reply or finishes.

        Needed only for threads that outlive the process; otherwise empty.
        """
        return await self._position(await self.state(subgraphs=True)) if self.is_durable else ""

    async def _position(self, state: StateSnapshot) -> str:
        """Return the checkpoint id and the numbers of replies and finished nodes since then."""
        finished = len(state.tasks) - len(state.next)
        position = f"{checkpoint_id(state)}:{await self._reply_count(state)}:{finished}"
        inner = [await self._position(each) for each in _subgraphs(state.tasks)]
        return ",".join([position, *inner])

    async def is_interrupted(self) -> bool:
        """Whether the run stopped to ask: all remaining nodes wait for a reply.

        If the state is ambiguous, the answer is no. The graph then continues and asks again,
        because LangGraph keeps an interrupt, even a resolved one, until its node has finished.
        """
        state = await self.state(subgraphs=True)
        return await self._waits_for_reply(state) or await self._is_at_breakpoint(state)

    async def _waits_for_reply(self, state: StateSnapshot) -> bool:
        """Whether each unfinished node waits at an interrupt without a reply."""
        asking = sum(bool(task.interrupts) for task in state.tasks)
        if not asking or asking < len(state.next) or await self._reply_count(state):
            return False
        inner = _subgraphs(task for task in state.tasks if task.interrupts)
        return all([await self._waits_for_reply(each) for each in inner if each.tasks])

    async def _is_at_breakpoint(self, state: StateSnapshot) -> bool:
        """Whether a graph stopped before or after a node."""
        graph = self.graph
        if not state.next or len(state.next) < len(state.tasks):
            return False
        if _has_node(state, graph.interrupt_before_nodes):
            return True
        if not graph.interrupt_after_nodes or state.parent_config is None:
            return False
        return _has_node(await graph.aget_state(state.parent_config), graph.interrupt_after_nodes)

    async def _reply_count(self, state: StateSnapshot) -> int:
        writes = await self.pending_writes(state)
        replies = [value for _, channel, value in writes if channel == _RESUME]
        return sum(len(value) if isinstance(value, list) else 1 for value in replies)

    async def pending_writes(self, state: StateSnapshot) -> Sequence[tuple[str, str, Any]]:
        """Return the stored writes since a state's checkpoint."""
        found = await self.graph.checkpointer.aget_tuple(state.config)
        return (found.pending_writes or ()) if found else ()

    async def repair(self) -> None:
        """Drop the remaining steps of an interrupted run and answer its open tool calls.

        Models refuse a conversation with an unanswered tool call, so the next turn would fail.
        """
        try:
            state = await self.state()
            if not state.tasks:
                return
            node = state.tasks[0].name
            # Keeps the results of finished parallel nodes, which may schedule new steps.
            await self.graph.aupdate_state(self._ids, None, as_node=END)
            state = await self.state()
            steps = [[StateUpdate(update, node)] for update in _results_of_open_calls(state.values)]
            if steps or state.next:
                await self.graph.abulk_update_state(self._ids, [*steps, [StateUpdate(None, END)]])
        except Exception:  # must not hide the error or the cancel that ended the run
            logger.exception("could not repair the thread of an interrupted run")


@dataclass(frozen=True, slots=True)
class RemoteThread:
    """The thread of a conversation, on another server."""

    graph: Any
    config: RunnableConfig
    has_breakpoints: ClassVar[bool] = False

    async def position(self) -> str:
        """Return "", because the server resumes its runs by itself."""
        return ""

    async def repair(self) -> None:
        """Drop the pending steps."""
        await self.graph.aupdate_state(self.config, None, as_node=END)

    async def state(self) -> StateSnapshot:
        """Return the state; an empty one for a new thread."""
        try:
            thread_id = self.config["configurable"]["thread_id"]
            state = await self.graph.client.threads.get_state(thread_id)
        except NotFoundError:
            return _EMPTY
        if not state["checkpoint"]:
            return _EMPTY
        tasks = tuple(
            PregelTask(
                task["id"],
                task["name"],
                (),
                interrupts=tuple(Interrupt(**asked) for asked in task["interrupts"]),
                result=task.get("result"),
            )
            for task in state["tasks"]
        )
        values = with_messages(state["values"])
        return _EMPTY._replace(values=values, next=tuple(state["next"]), tasks=tasks)


AnyThread: TypeAlias = GraphThread | RemoteThread


def checkpoint_id(state: StateSnapshot) -> str:
    """Return the id of a state's checkpoint."""
    return str(state.config["configurable"].get("checkpoint_id", ""))


def _has_node(state: StateSnapshot, nodes: Sequence[str] | Literal["*"]) -> bool:
    """Whether one of the nodes is part of a step; `*` is any but LangGraph's own."""
    names = {task.name for task in state.tasks} - {START}
    return bool(names if nodes == "*" else names.intersection(nodes))


def _subgraphs(tasks: Iterable[PregelTask]) -> list[StateSnapshot]:
    return [task.state for task in tasks if isinstance(task.state, StateSnapshot)]


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


def with_messages(data: Any) -> Any:
    """Convert the lists of messages in JSON to message objects."""
    if isinstance(data, Mapping):
        return {key: with_messages(value) for key, value in data.items()}
    if not isinstance(data, list):
        return data
    are_messages = data and all(
        isinstance(m, Mapping) and {"type", "content"} <= m.keys() for m in data
    )
    return convert_to_messages(data) if are_messages else data
