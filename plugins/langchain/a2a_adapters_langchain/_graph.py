"""A LangGraph graph as an adapter."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

from langgraph import errors
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from pydantic import ValidationError

from a2a_adapters import (
    JSON,
    Adapter,
    AgentDescription,
    AgentEvent,
    AgentRequest,
    InputRequired,
    Limits,
    Rejected,
    TargetError,
    TextDelta,
)
from a2a_adapters_langchain._approval import UnclearReplyError
from a2a_adapters_langchain._card import describe_graph
from a2a_adapters_langchain._check import complaints
from a2a_adapters_langchain._interrupts import (
    DECLINED,
    STILL_WAITING,
    USAGE,
    question,
    resumption,
    waits,
)
from a2a_adapters_langchain._keys import conversation_key
from a2a_adapters_langchain._mapping import graph_input
from a2a_adapters_langchain._memory import ConversationMemory
from a2a_adapters_langchain._progress import GraphNews
from a2a_adapters_langchain._repair import repair_thread
from a2a_adapters_langchain._result import GraphResult
from a2a_adapters_langchain._run import GraphRun
from a2a_adapters_langchain._speech import Speech
from a2a_adapters_langchain._voices import choose_voices
from a2a_adapters_langchain._watch import RunWatch

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from a2a_adapters_langchain._input import ReadInput

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]


class GraphAdapter(Adapter):
    """Serves compiled LangGraph graphs, agents of `create_agent` and `@entrypoint` workflows.

    Every (caller, conversation) is a thread of the graph's checkpointer. A graph without one
    gets a memory in this process, bounded by `limits`; one compiled with `checkpointer=False`
    remembers nothing and cannot ask its caller anything.

    Tokens are streamed of the nodes that can be the graph's last (see `_voices`), each message
    apart from the next by a blank line; text that a model writes along with tool calls is
    part of that. What was not streamed of the answer follows at the end.

    Args:
        graph: What answers.
        input: Makes the graph's input of a request, in place of the schema's rules.
        output: Makes the answer of the graph's output, which is then sent whole.
        stream_nodes: The nodes, of the graph or of its subgraphs, whose tokens are the answer,
            in place of the rule; with none of them the answer is sent whole.
        limits: Bounds of the memory for a graph without checkpointer.

    Raises:
        TargetError: The graph's checkpointer has no async methods, or a node is not there.
    """

    def __init__(
        self,
        graph: Any,
        *,
        input: Callable[[AgentRequest], object] | None = None,  # noqa: A002 - LangChain's word
        output: Callable[[Any], object] | None = None,
        stream_nodes: Collection[str] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._memory = _memory_for(graph, limits or Limits())
        self._graph = graph.copy({"checkpointer": self._memory}) if self._memory else graph
        self._remembers = graph.checkpointer is not False
        self._has_breakpoints = bool(graph.interrupt_before_nodes or graph.interrupt_after_nodes)
        self._input: ReadInput = input or graph_input(graph)
        self._may_speak = None if output else choose_voices(graph, stream_nodes)
        self._result = GraphResult(graph, output)
        self._description = describe_graph(graph, self._input)

    def describe(self) -> AgentDescription:
        """Describe the graph by its name, its tools and what it takes."""
        return self._description

    def stream(self, request: AgentRequest) -> _Events:
        """Run the graph, or go on where it asked its caller.

        Raises:
            InvalidInputError: The message is not what the graph takes.
        """
        value = None if request.resuming else self._input(request)
        return self._answer(value, request)

    async def abandon(self, request: AgentRequest) -> None:
        """Close the conversation's open question, so that it can go on."""
        thread = conversation_key(request)
        with self._memory.use(thread) if self._memory else nullcontext():
            await self._repair({"configurable": {"thread_id": thread}})

    async def aclose(self) -> None:
        """Forget all conversations that only this process remembers."""
        if self._memory:
            self._memory.clear()

    async def _answer(self, value: object, request: AgentRequest) -> _Events:
        watch = RunWatch(request.cancelled, _usage_so_far(request))
        thread = conversation_key(request)
        config: RunnableConfig = {"callbacks": [watch], "configurable": {"thread_id": thread}}
        with self._memory.use(thread) if self._memory else nullcontext():
            begin = await self._begin(value, request, config)
            if isinstance(begin, Rejected | InputRequired):
                yield begin
                return
            news = GraphNews() if request.wants_progress else None
            run = GraphRun(begin, Speech(self._may_speak or _nobody), news)
            async with aclosing(self._run(run, begin, config)) as events:
                async for event in events:
                    yield event
            for event in (*run.rest(), *watch.metadata(), *await self._end(run, config, watch)):
                yield event

    async def _begin(self, value: object, request: AgentRequest, config: RunnableConfig) -> object:
        """Return the graph's input, or the event that is the answer because there is none."""
        if not self._remembers:
            return value
        state = await self._graph.aget_state(config)
        if not request.resuming:
            return STILL_WAITING if waits(state, has_breakpoints=self._has_breakpoints) else value
        try:
            begin = resumption(state, request)
        except UnclearReplyError as unclear:
            return question(state, _usage_so_far(request), str(unclear))
        if begin is DECLINED:
            await repair_thread(self._graph, config)
        return begin

    async def _run(self, run: GraphRun, value: object, config: RunnableConfig) -> _Events:
        modes = ["updates", "values", *(["messages"] if self._may_speak else [])]
        modes += ["custom"] if run.news else []
        steps = self._graph.astream(value, config, stream_mode=modes, subgraphs=True)
        try:
            async with aclosing(steps):
                async for namespace, mode, data in steps:
                    if mode == "messages":
                        if text := run.token(*data):
                            yield TextDelta(text)
                    else:
                        for event in run.step(namespace, mode, data):
                            yield event
        except ValidationError as error:
            if not _is_invalid_reply(error):
                await self._repair(config)
                raise
            run.complaint = complaints(error)
        except BaseException:  # a cancel too, and the end of this generator
            await self._repair(config)
            raise

    async def _repair(self, config: RunnableConfig) -> None:
        if self._remembers:
            await repair_thread(self._graph, config)

    async def _end(
        self, run: GraphRun, config: RunnableConfig, watch: RunWatch
    ) -> Sequence[AgentEvent]:
        """Return the rest of the answer, or what the graph asks."""
        if run.is_paused or run.complaint:
            if not self._remembers:
                raise TargetError("the graph asked its caller, which takes a checkpointer")
            state = await self._graph.aget_state(config)
            return [question(state, watch.usage, run.complaint)]
        if self._memory:
            self._memory.tidy(config["configurable"]["thread_id"])
        return self._result.events(run)


def _memory_for(graph: Any, limits: Limits) -> ConversationMemory | None:
    """Return a memory for a graph that has none; None if it has, or wants none."""
    saver = graph.checkpointer
    if saver is None or saver is True:
        keeps_steps = any(isinstance(item, DeltaChannel) for item in graph.channels.values())
        return ConversationMemory(limits, keeps_steps=keeps_steps)
    if saver is not False and _is_blocking(saver):
        kind = type(saver).__name__
        raise TargetError(f"{kind} has no async methods: use its async variant, Async{kind}")
    return None


def _is_blocking(saver: BaseCheckpointSaver[Any]) -> bool:
    kind = type(saver)
    if kind.__module__ == "langgraph.checkpoint.sqlite":  # it has them, but they only raise
        return True
    return kind.aget_tuple is BaseCheckpointSaver.aget_tuple


def _nobody(_: str) -> bool:
    return False


def _usage_so_far(request: AgentRequest) -> Mapping[str, JSON] | None:
    """Return the usage of the task's runs before this one."""
    usage = request.resume_metadata.get(USAGE)
    return usage if isinstance(usage, Mapping) else None


def _is_invalid_reply(error: ValidationError) -> bool:
    """Whether the graph refused a reply by the schema it asked for; it still waits then."""
    check = getattr(errors, "is_invalid_resume", None)  # LangGraph 1.2.0 has no such schemas
    return check is not None and bool(check(error))
