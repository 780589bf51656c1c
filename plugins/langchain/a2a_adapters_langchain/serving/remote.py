"""A graph on a LangGraph server as an adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.messages import AIMessageChunk
from langgraph.constants import END
from langgraph.pregel.remote import RemoteException

from a2a_adapters import AgentEvent, AgentRequest, InputRequired, Rejected, TargetError
from a2a_adapters.concurrency import PerLoop
from a2a_adapters.plugin import (
    Adapter,
    AgentDescription,
    AgentFailedError,
    check_arguments,
    model_failure,
)
from a2a_adapters_langchain.serving.answer_nodes import IsAnswer, names_of
from a2a_adapters_langchain.serving.card import describe_graph
from a2a_adapters_langchain.serving.config import MakeConfig, caller, conversation_uuid, run_config
from a2a_adapters_langchain.serving.graph_run import GraphRun
from a2a_adapters_langchain.serving.input import MessagesInput
from a2a_adapters_langchain.serving.interrupts import first_input, question
from a2a_adapters_langchain.serving.progress import GraphProgress
from a2a_adapters_langchain.serving.recovery import RunStart
from a2a_adapters_langchain.serving.result import GraphResult
from a2a_adapters_langchain.serving.thread import RemoteThread, with_messages
from a2a_adapters_langchain.serving.transcript import TaskSoFar
from a2a_adapters_langchain.serving.watch import RunWatch, limit_failure

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.pregel.remote import RemoteGraph

    from a2a_adapters import OutboundPolicy
    from a2a_adapters_langchain.serving.input import ReadInput

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]


class RemoteGraphAdapter(Adapter):
    """Serves a `RemoteGraph`; each conversation of a caller is a thread of its server.

    The arguments are those of `adapt`. The server is not contacted before the first message. By
    default the input is `messages` with the new message, and the tokens of the nodes that the
    server reports as possible ends of the graph are the answer.

    Raises:
        TargetError: The graph has no asynchronous client.
    """

    def __init__(
        self,
        graph: RemoteGraph,
        *,
        input: ReadInput | None = None,  # noqa: A002 - LangChain's name
        output: Callable[[Any], object] | None = None,
        stream_nodes: Collection[str] | None = None,
        config: MakeConfig | None = None,
        context: Callable[[AgentRequest], object] | None = None,
        files: Collection[str] = (),
        fetch: OutboundPolicy | None = None,
    ) -> None:
        if graph.client is None:
            raise TargetError("a remote graph needs a client: RemoteGraph(..., client=...) or url=")
        check_arguments(RemoteGraphAdapter, locals())
        self.fetch = fetch
        self._graph: Any = graph
        self._input: ReadInput = input or MessagesInput("messages")
        self._result = GraphResult(None, {}, output, files)
        self._is_whole = output is not None
        self._has_chosen_nodes = stream_nodes is not None
        self._nodes = None if stream_nodes is None else frozenset(stream_nodes)
        self._reading = PerLoop(asyncio.Lock)
        self._make_config = config
        self._make_context = context
        self._description = describe_graph(graph, self._input)

    def describe(self) -> AgentDescription:
        """Describe the graph by its name."""
        return self._description

    def stream(self, request: AgentRequest) -> _Events:
        """Run the graph, or resume it after a question.

        Raises:
            InvalidInputError: The message does not fit the graph's input.
        """
        value = None if request.resuming else self._input(request)
        return self._answer(value, request)

    async def abandon(self, request: AgentRequest) -> None:
        """Close the open question, so that the conversation can continue."""
        await self._thread({"configurable": {"thread_id": conversation_uuid(request)}}).repair()

    async def _answer(self, value: object, request: AgentRequest) -> _Events:
        ids = {**caller(request), "thread_id": conversation_uuid(request)}
        config = run_config(request, RunWatch(request.cancelled), ids, self._make_config)
        thread = self._thread(config)
        begin = await first_input(value, request, thread, await thread.state())
        if isinstance(begin, Rejected | InputRequired):
            yield begin
            return
        progress = GraphProgress() if request.wants_progress else None
        is_answer = await self._answer_filter()
        run = GraphRun(
            RunStart(begin),
            None if self._is_whole else is_answer,
            progress,
            earlier=TaskSoFar.of(request),
            keeps_all=self._has_chosen_nodes,
            has_chosen=self._has_chosen_nodes,
        )
        context = self._make_context(request) if self._make_context else None
        events = run.events(self._graph, config, _parsed, context=context, on_disconnect="cancel")
        async with aclosing(events):
            try:
                async for event in events:
                    yield event
            except RemoteException as error:
                if failure := _failure(error):
                    raise failure from error
                raise
        for event in run.transcript.rest():
            yield event
        state = await thread.state() if run.is_paused else None
        if state is None or not state.tasks:
            for event in self._result.events(run):
                yield event
            return
        for event in self._result.preceding(run, state):
            yield event
        yield question(state, None, metadata=self._result.so_far(run).as_metadata())

    async def _answer_filter(self) -> IsAnswer:
        async with self._reading():
            if self._nodes is None:
                drawn = await self._graph.aget_graph()
                self._nodes = frozenset(edge.source for edge in drawn.edges if edge.target == END)
        nodes = self._nodes
        return lambda task: not nodes.isdisjoint(names_of(task))

    def _thread(self, config: RunnableConfig) -> RemoteThread:
        return RemoteThread(self._graph, config)


def _failure(error: RemoteException) -> AgentFailedError | None:
    """Return the category of a failure from the exception's class name, which the server sends."""
    details = error.args[0] if error.args else None
    name = str(details.get("error")) if isinstance(details, Mapping) else ""
    return limit_failure(error, name) or model_failure(name)


def _parsed(mode: str, data: Any) -> Any:
    """Convert streamed JSON to the objects that a local graph streams."""
    if mode != "messages":
        return with_messages(data)
    message, metadata = data
    is_chunk = message.get("type") == AIMessageChunk.__name__
    return (AIMessageChunk.model_validate(message) if is_chunk else message), metadata
