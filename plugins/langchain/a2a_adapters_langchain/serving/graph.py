"""A LangGraph graph as an adapter."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, is_typeddict

from langgraph import errors
from pydantic import ValidationError

from a2a_adapters import (
    JSON,
    Adapter,
    AgentDescription,
    AgentEvent,
    AgentRequest,
    CancelFlag,
    InputRequired,
    InvalidInputError,
    Limits,
    Rejected,
    Speech,
    TargetError,
    TextDelta,
)
from a2a_adapters_langchain.serving.card import describe_graph
from a2a_adapters_langchain.serving.config import MakeConfig, caller, run_config
from a2a_adapters_langchain.serving.cutoff import (
    FINISHED,
    POSITION,
    CutOffRun,
    cut_off_run,
    has_begun,
    has_started,
    is_asking,
    position_of,
    repair_thread,
)
from a2a_adapters_langchain.serving.input import graph_input
from a2a_adapters_langchain.serving.memory import Threads
from a2a_adapters_langchain.serving.progress import GraphNews
from a2a_adapters_langchain.serving.questions import (
    USAGE,
    first_input,
    question,
)
from a2a_adapters_langchain.serving.run import GraphResult, GraphRun
from a2a_adapters_langchain.serving.schema import output_schema
from a2a_adapters_langchain.serving.speakers import choose_voices
from a2a_adapters_langchain.serving.watch import RunWatch, step_limit

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import OutboundPolicy, StateStorage
    from a2a_adapters_langchain.serving.input import ReadInput

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]


@dataclass(frozen=True, slots=True)
class _Thread:
    """A conversation as the graph knows it: the graph of this run, and where its state is kept."""

    graph: Any
    config: RunnableConfig


class GraphAdapter(Adapter):
    """Serves compiled LangGraph graphs, agents of `create_agent` and `@entrypoint` workflows.

    Every (caller, conversation) is a thread of the graph's checkpointer. A graph without one
    gets LangGraph's own in the server's storage, or a memory in this process, bounded by `limits`,
    where there is none; one compiled with `checkpointer=False`
    remembers nothing and cannot ask its caller anything.

    Tokens are streamed of the nodes that can be the graph's last (see `speakers`), each message
    apart from the next by a blank line; text that a model writes along with tool calls is
    part of that. What was not streamed of the answer follows at the end.

    Args:
        graph: What answers.
        input: Makes the graph's input of a request, in place of the schema's rules.
        output: Makes the answer of the graph's output, which is then sent whole.
        stream_nodes: The nodes, of the graph or of its subgraphs, whose tokens are the answer,
            in place of the rule; with none of them the answer is sent whole.
        config: Makes the configuration of a run of a request. Its `configurable` has the caller
            already, as `user_id` and as LangGraph's server has them; the thread is ours.
        context: Makes the graph's context of a request.
        make: Makes the graph of each run of its configuration; `graph` is then an example.
        limits: Bounds of the memory for a graph without checkpointer.
        files: Patterns of the files in the graph's state that are sent as artifacts.
        fetch: See `Adapter.fetch`.

    Raises:
        TargetError: The graph's checkpointer has no async methods, a node is not there, or the
            graph needs a context and gets none.
    """

    def __init__(  # noqa: PLR0913 - a choice each
        self,
        graph: Any,
        *,
        input: Callable[[AgentRequest], object] | None = None,  # noqa: A002 - LangChain's word
        output: Callable[[Any], object] | None = None,
        stream_nodes: Collection[str] | None = None,
        config: MakeConfig | None = None,
        context: Callable[[AgentRequest], object] | None = None,
        make: Callable[[RunnableConfig], Any] | None = None,
        limits: Limits | None = None,
        files: Collection[str] = (),
        fetch: OutboundPolicy | None = None,
    ) -> None:
        self.fetch = fetch
        if context is None:
            _refuse_missing_context(graph)
        self._make_config = config
        self._make_context = context
        self._threads = Threads(graph, limits or Limits())
        self._example = graph
        self._graph = self._threads.remembering(graph)
        self._make = make
        self._remembers = graph.checkpointer is not False
        self._has_breakpoints = bool(graph.interrupt_before_nodes or graph.interrupt_after_nodes)
        self._input: ReadInput = input or graph_input(graph)
        self._may_speak = None if output else choose_voices(graph, stream_nodes)
        self._result = GraphResult(graph.output_channels, output_schema(graph), output, files)
        self._description = describe_graph(graph, self._input)

    def _thread(self, config: RunnableConfig) -> _Thread:
        graph = self._graph
        if self._make:
            graph = self._threads.remembering(self._make(config))
        return _Thread(graph, {**step_limit(graph), **config})

    def describe(self) -> AgentDescription:
        """Describe the graph by its name, its tools and what it takes."""
        return self._description

    async def open(self, storage: StateStorage) -> None:
        """Keep the threads of a graph without a checkpointer in the server's database."""
        await self._threads.open(storage)
        self._graph = self._threads.remembering(self._example)

    def stream(self, request: AgentRequest) -> _Events:
        """Run the graph, or go on where it asked its caller.

        Raises:
            InvalidInputError: The message is not what the graph takes.
        """
        value = None if request.resuming else self._input(request)
        return self._answer(value, request)

    @property
    def resumes(self) -> bool:  # type: ignore[override]
        """Whether the graph's threads outlive the process."""
        return self._threads.are_durable

    def resume(self, request: AgentRequest) -> _Events:
        """Go on from the last checkpoint: the nodes that had finished are not run again."""
        value = None if request.resuming else self._input(request)
        return self._answer(value, request, is_resumed=True)

    async def had_effect(self, request: AgentRequest) -> bool:
        """Whether a node ran since the message, or may have: LangGraph stored that one was next."""
        thread = self._thread({"configurable": {"thread_id": self._threads.key(request)}})
        state = await thread.graph.aget_state(thread.config)
        if not has_begun(state, request) or await self._position(thread) == _asked_at(request):
            return False
        return await has_started(thread.graph, state)

    async def abandon(self, request: AgentRequest) -> None:
        """Close the conversation's open question, so that it can go on."""
        key = self._threads.key(request)
        with self._threads.held(key):
            await self._repair(self._thread({"configurable": {"thread_id": key}}))

    async def aclose(self) -> None:
        """Forget all conversations that only this process remembers."""
        await self._threads.aclose()
        self._graph = self._threads.remembering(self._example)

    async def _answer(
        self, value: object, request: AgentRequest, *, is_resumed: bool = False
    ) -> _Events:
        watch = RunWatch(request.cancelled, _usage_so_far(request))
        key = self._threads.key(request)
        ids = {**caller(request), "thread_id": key}
        config = run_config(request, watch, ids, self._make_config)
        context = self._make_context(request) if self._make_context else None
        await self._threads.used(request)
        with self._threads.held(key):
            thread = self._thread(config)
            cut_off = await self._cut_off(request, thread) if is_resumed else None
            said = cut_off.said(request.said, self._may_speak or _nobody) if cut_off else []
            watch.count(cut_off.usages() if cut_off else ())
            speech = Speech[str]()
            if text := "".join(speech.end("", message) for message in said):
                yield TextDelta(text)
            begin = cut_off.begin if cut_off else await self._begin(value, request, thread)
            if isinstance(begin, Rejected | InputRequired):
                yield begin
                return
            news = GraphNews() if request.wants_progress else None
            run = GraphRun(
                begin,
                speech,
                self._may_speak,
                news=news,
                cut_off=cut_off,
                is_structured=watch.is_structured,
            )
            if begin is not FINISHED:
                durability = "sync" if self.resumes else None
                events = run.events(
                    thread.graph, thread.config, context=context, durability=durability
                )
                with watch.explaining():
                    async with self._repairing(run, thread, request.cancelled), aclosing(events):
                        async for event in events:
                            yield event
            for event in (*run.rest(), *watch.metadata(), *await self._end(run, thread, watch)):
                yield event

    async def _begin(self, value: object, request: AgentRequest, thread: _Thread) -> object:
        """Return the graph's input, or the event that is the answer because there is none."""
        if not self._remembers:
            return value
        state = await thread.graph.aget_state(thread.config)

        async def ask(hint: str) -> InputRequired:
            return question(state, _usage_so_far(request), hint, await self._position(thread))

        return await first_input(
            value,
            request,
            state,
            ask=ask,
            rest=partial(self._repair, thread),
            has_breakpoints=self._has_breakpoints,
        )

    async def _position(self, thread: _Thread) -> str:
        return await position_of(thread.graph, thread.config) if self.resumes else ""

    async def _cut_off(self, request: AgentRequest, thread: _Thread) -> CutOffRun | None:
        """Return the request's run as its process has left it; None if it had not begun."""
        state = await thread.graph.aget_state(thread.config)
        if not has_begun(state, request):
            return None
        position = await self._position(thread)
        begin: object = None
        if position == _asked_at(request):  # the answer was not taken yet
            begin = await self._begin(None, request, thread)
        elif not state.tasks:  # `next` lacks those whose writes are stored, but not applied yet
            begin = FINISHED
        elif await is_asking(thread.graph, thread.config):
            begin = question(state, _usage_so_far(request), position=position)
        return await cut_off_run(thread.graph, thread.config, request, state, begin)

    @asynccontextmanager
    async def _repairing(
        self, run: GraphRun, thread: _Thread, cancelled: CancelFlag
    ) -> AsyncGenerator[None]:
        """Bring the thread to rest unless its run comes to its end, or refuses a reply."""
        try:
            yield
        except BaseException as error:  # a cancel too, and the end of the generator
            if _is_invalid_reply(error):
                run.complaint = str(InvalidInputError.of(error))
                return
            await self._repair(thread, cancelled)
            raise

    async def _repair(self, thread: _Thread, cancelled: CancelFlag | None = None) -> None:
        # A thread that was left behind is the next message's, which repairs it.
        if self._remembers and (cancelled is None or not cancelled.left_behind):
            await repair_thread(thread.graph, thread.config)

    async def _end(self, run: GraphRun, thread: _Thread, watch: RunWatch) -> Sequence[AgentEvent]:
        """Return the rest of the answer, or what the graph asks."""
        if run.is_paused or run.complaint:
            if not self._remembers:
                raise TargetError("the graph asked its caller, which takes a checkpointer")
            state = await thread.graph.aget_state(thread.config)
            position = await self._position(thread)
            return self._result.events(run, question(state, watch.usage, run.complaint, position))
        self._threads.tidy(thread.config["configurable"]["thread_id"])
        return self._result.events(run)


def _refuse_missing_context(graph: Any) -> None:
    schema = getattr(graph, "context_schema", None)
    if schema is None:
        return
    if is_typeddict(schema):
        required = sorted(schema.__required_keys__)
    else:
        required = graph.get_context_jsonschema().get("required", [])
    if required:
        raise TargetError(
            f"the graph's context needs {', '.join(required)}: serve "
            "adapt(graph, context=lambda request: ...)"
        )


def _asked_at(request: AgentRequest) -> JSON:
    """Return how far the graph had come when it asked what a message answers."""
    return request.resume_metadata.get(POSITION)


def _nobody(_: str) -> bool:
    return False


def _usage_so_far(request: AgentRequest) -> Mapping[str, JSON] | None:
    """Return the usage of the task's runs before this one."""
    usage = request.resume_metadata.get(USAGE)
    return usage if isinstance(usage, Mapping) else None


def _is_invalid_reply(error: BaseException) -> TypeGuard[ValidationError]:
    """Whether the graph refused a reply by the schema it asked for; it still waits then."""
    check = getattr(errors, "is_invalid_resume", None)  # LangGraph 1.2.0 has no such schemas
    return isinstance(error, ValidationError) and check is not None and bool(check(error))
