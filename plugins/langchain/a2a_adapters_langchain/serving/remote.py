"""A graph that runs on a LangGraph server, as an adapter."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.messages import AIMessageChunk, convert_to_messages
from langgraph.constants import END
from langgraph.pregel.remote import RemoteException
from langgraph.types import Interrupt, PregelTask, StateSnapshot
from langgraph_sdk.errors import NotFoundError

from a2a_adapters import (
    ANOTHER_TASK_WAITS,
    Adapter,
    AgentDescription,
    AgentEvent,
    AgentFailedError,
    AgentRequest,
    InputRequired,
    Rejected,
    Speech,
    TargetError,
    TextDelta,
    model_failure,
)
from a2a_adapters_langchain.serving.card import describe_named
from a2a_adapters_langchain.serving.config import MakeConfig, caller, conversation_uuid, run_config
from a2a_adapters_langchain.serving.input import MessagesInput
from a2a_adapters_langchain.serving.progress import GraphNews
from a2a_adapters_langchain.serving.questions import (
    DECLINED,
    UnclearReplyError,
    question,
    resumption,
    waits,
)
from a2a_adapters_langchain.serving.run import GraphResult, GraphRun
from a2a_adapters_langchain.serving.speakers import names_of
from a2a_adapters_langchain.serving.watch import RunWatch, limit_failure

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.pregel.remote import RemoteGraph

    from a2a_adapters import OutboundPolicy
    from a2a_adapters_langchain.serving.input import ReadInput

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]


class RemoteGraphAdapter(Adapter):
    """Serves a `RemoteGraph`, each (caller, conversation) as a thread of its server.

    Args:
        graph: What answers. Its server is asked for nothing before the first message.
        input: Makes the graph's input of a request; by default `messages` with the new message.
        output: Makes the answer of the graph's last state, which is then sent whole.
        stream_nodes: The nodes whose tokens are the answer; by default those after which the
            graph can end, as its server tells.
        config: Makes the configuration of a run of a request.
        context: Makes the graph's context of a request.
        files: Patterns of the files in the graph's state that are sent as artifacts.
        fetch: See `Adapter.fetch`.

    Raises:
        TargetError: The graph has no asynchronous client.
    """

    def __init__(
        self,
        graph: RemoteGraph,
        *,
        input: ReadInput | None = None,  # noqa: A002 - LangChain's word
        output: Callable[[Any], object] | None = None,
        stream_nodes: Collection[str] | None = None,
        config: MakeConfig | None = None,
        context: Callable[[AgentRequest], object] | None = None,
        files: Collection[str] = (),
        fetch: OutboundPolicy | None = None,
    ) -> None:
        if graph.client is None:
            raise TargetError("a remote graph needs a client: RemoteGraph(..., client=...) or url=")
        self.fetch = fetch
        self._graph: Any = graph
        self._client = graph.client
        self._input: ReadInput = input or MessagesInput("messages")
        self._result = GraphResult(None, {}, output, files)
        self._is_whole = output is not None
        self._speaking = None if stream_nodes is None else frozenset(stream_nodes)
        self._looking = asyncio.Lock()
        self._make_config = config
        self._make_context = context
        self._description = describe_named(str(graph.name), self._input)

    def describe(self) -> AgentDescription:
        """Describe the graph by its name."""
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
        await self._close({"configurable": {"thread_id": conversation_uuid(request)}})

    async def _answer(self, value: object, request: AgentRequest) -> _Events:
        thread = conversation_uuid(request)
        ids = {**caller(request), "thread_id": thread}
        config = run_config(request, RunWatch(request.cancelled), ids, self._make_config)
        begin = await self._begin(value, request, config)
        if isinstance(begin, Rejected | InputRequired):
            yield begin
            return
        speaking = await self._speakers()
        news = GraphNews() if request.wants_progress else None
        run = GraphRun(
            begin, Speech(), lambda task: not speaking.isdisjoint(names_of(task)), news=news
        )
        async with aclosing(self._run(run, begin, config, request)) as events:
            try:
                async for event in events:
                    yield event
            except RemoteException as error:
                if failure := _failure(error):
                    raise failure from error
                raise
        for event in run.rest():
            yield event
        state = await self._state(thread) if run.is_paused else None
        rest = [question(state, None)] if state else self._result.events(run)
        files = self._result.files(run)
        for event in (*files, *rest) if state else (*rest, *files):
            yield event

    async def _begin(self, value: object, request: AgentRequest, config: RunnableConfig) -> object:
        """Return the graph's input, or the event that is the answer because there is none."""
        state = await self._state(config["configurable"]["thread_id"])
        if request.resuming:
            return await self._resumption(state, request, config)
        if state and waits(state, has_breakpoints=False) and await request.others_wait():
            return ANOTHER_TASK_WAITS
        if state and state.next:
            await self._close(config)
        return value

    async def _resumption(
        self, state: StateSnapshot | None, request: AgentRequest, config: RunnableConfig
    ) -> object:
        state = state or StateSnapshot({}, (), config, None, None, None, (), ())
        try:
            begin = resumption(state, request)
        except UnclearReplyError as unclear:
            return question(state, None, str(unclear))
        if begin is DECLINED:
            await self._close(config)
        return begin

    async def _run(
        self, run: GraphRun, value: object, config: RunnableConfig, request: AgentRequest
    ) -> _Events:
        modes = ["updates", "values", *([] if self._is_whole else ["messages"])]
        modes += ["custom"] if run.news else []
        steps = self._graph.astream(
            value,
            config,
            context=self._make_context(request) if self._make_context else None,
            stream_mode=modes,
            subgraphs=True,
            on_disconnect="cancel",
        )
        async with aclosing(steps):
            async for namespace, mode, data in steps:
                if mode == "messages":
                    if text := run.token(_chunk(data[0]), data[1]):
                        yield TextDelta(text)
                else:
                    for event in run.step(namespace, mode, _restored(data)):
                        yield event

    async def _speakers(self) -> frozenset[str]:
        async with self._looking:
            if self._speaking is None:
                drawn = await self._graph.aget_graph()
                self._speaking = frozenset(
                    edge.source for edge in drawn.edges if edge.target == END
                )
        return self._speaking

    async def _close(self, config: RunnableConfig) -> None:
        await self._graph.aupdate_state(config, None, as_node=END)

    async def _state(self, thread_id: str) -> StateSnapshot | None:
        """Return a thread's state; None if nothing was said in it."""
        try:
            state = await self._client.threads.get_state(thread_id)
        except NotFoundError:
            return None
        if not state["checkpoint"]:
            return None
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
        config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
        values = _restored(state["values"])
        return StateSnapshot(values, tuple(state["next"]), config, None, None, None, tasks, ())


def _failure(error: RemoteException) -> AgentFailedError | None:
    """Return why a run failed on its server, which tells the name of an exception's class."""
    told = error.args[0] if error.args else None
    name = str(told.get("error")) if isinstance(told, Mapping) else ""
    return limit_failure(error, name) or model_failure(name)


def _chunk(message: Mapping[str, Any]) -> object:
    is_chunk = message.get("type") == AIMessageChunk.__name__
    return AIMessageChunk.model_validate(message) if is_chunk else message


def _restored(data: Any) -> Any:
    """Return JSON in which lists of messages are messages again."""
    if isinstance(data, Mapping):
        return {key: _restored(value) for key, value in data.items()}
    if not isinstance(data, list):
        return data
    are_messages = data and all(
        isinstance(m, Mapping) and {"type", "content"} <= m.keys() for m in data
    )
    return convert_to_messages(data) if are_messages else data
