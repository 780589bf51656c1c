"""A LangGraph graph as an adapter."""

from __future__ import annotations

import functools
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, is_typeddict

from langgraph.errors import is_invalid_resume
from pydantic import ValidationError

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    InputRequired,
    InvalidInputError,
    Limits,
    Rejected,
    TargetError,
)
from a2a_adapters.plugin import Adapter, AgentDescription, CancelFlag, check_arguments
from a2a_adapters_langchain.serving.answer_nodes import answer_filter, leads_to
from a2a_adapters_langchain.serving.card import describe_graph
from a2a_adapters_langchain.serving.config import (
    MakeConfig,
    caller_with_claims,
    run_config,
    step_limit,
)
from a2a_adapters_langchain.serving.graph_run import GraphRun
from a2a_adapters_langchain.serving.guards import (
    Guards,
    changes_text,
    checking_nodes,
    checks_arguments,
    graphs_in,
    guarding_nodes,
    guards_of,
    has_strict_callbacks,
    holds_itself,
    refuse_blocking_hooks,
    waiting_calls,
)
from a2a_adapters_langchain.serving.input import graph_input
from a2a_adapters_langchain.serving.interrupts import first_input, question, usage_so_far
from a2a_adapters_langchain.serving.memory import Threads
from a2a_adapters_langchain.serving.progress import GraphProgress
from a2a_adapters_langchain.serving.recovery import (
    ASKS_AGAIN,
    FINISHED,
    RunStart,
    has_run_nodes,
    resumed_start,
)
from a2a_adapters_langchain.serving.result import GraphResult
from a2a_adapters_langchain.serving.schema import checks_whole_answers, output_schema
from a2a_adapters_langchain.serving.transcript import TaskSoFar
from a2a_adapters_langchain.serving.watch import RunWatch

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from langchain_core.runnables import RunnableConfig
    from langgraph.types import StateSnapshot

    from a2a_adapters import OutboundPolicy
    from a2a_adapters.plugin import StateStorage
    from a2a_adapters_langchain.serving.input import ReadInput
    from a2a_adapters_langchain.serving.thread import GraphThread

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]

logger = logging.getLogger(__name__)


class GraphAdapter(Adapter):
    """Serves compiled LangGraph graphs, agents of `create_agent` and `@entrypoint` workflows.

    Each conversation of a caller is a thread of the graph's checkpointer. A graph without one
    gets LangGraph's own checkpointer in the server's database or, without a database, a memory in
    this process that `limits` bounds. One compiled with `checkpointer=False` remembers nothing
    and cannot ask its caller.

    The tokens of all nodes that can be the graph's last are streamed, with a blank line between
    messages. That includes text that a model writes along with tool calls. The rest of the answer
    follows at the end. Text that the graph's final state does not contain is withdrawn, and the
    text of an agent with guardrails is held back until then, unless they check it while it is
    streamed.

    Args:
        graph: The graph.
        input: Makes the graph's input from a request, in place of the rules for its schema.
        output: Makes the answer from the graph's output. The answer is then sent whole.
        stream_nodes: The nodes, of the graph or of its subgraphs, whose tokens are the answer,
            in place of the rule above; if it is empty, the answer is sent whole.
        config: Makes the configuration of a run from a request. The adapter adds the thread and,
            as LangGraph's server does, the caller to `configurable`.
        context: Makes the graph's context from a request.
        make: Makes a graph for each run from its configuration; `graph` is then an example.
        limits: Bounds the memory in this process.
        files: Patterns for the paths of files in the graph's state that are sent as artifacts.
        fetch: See `Adapter.fetch`.

    Raises:
        TargetError: The graph's checkpointer has no async methods, a node does not exist, the graph
            requires a context and `context` is missing, its class overrides `ainvoke` only, or it
            has a hook around calls that is not async.
    """

    def __init__(  # noqa: PLR0913 - a choice each
        self,
        graph: Any,
        *,
        input: Callable[[AgentRequest], object] | None = None,  # noqa: A002 - LangChain's name
        output: Callable[[Any], object] | None = None,
        stream_nodes: Collection[str] | None = None,
        config: MakeConfig | None = None,
        context: Callable[[AgentRequest], object] | None = None,
        make: Callable[[RunnableConfig], Any] | None = None,
        limits: Limits | None = None,
        files: Collection[str] = (),
        fetch: OutboundPolicy | None = None,
    ) -> None:
        check_arguments(GraphAdapter, locals())
        self.fetch = fetch
        _refuse_unstreamed_checks(graph)
        refuse_blocking_hooks(graph)
        if context is None:
            _refuse_missing_context(graph)
        self._make_config = config
        self._make_context = context
        self._make = make
        self._graph = graph
        self._limit = step_limit(graph)
        self._threads = Threads(graph, limits or Limits())
        self._input: ReadInput = input or graph_input(graph)
        self.uses_history = _forgets(graph) and getattr(self._input, "uses_history", True)
        self._stream_nodes = stream_nodes
        self._guards = guards_of(graph, stream_nodes)
        is_answer = answer_filter(graph, stream_nodes)
        self._is_answer = None if output or self._guards is Guards.WHOLE else is_answer
        self._answers = is_answer
        self._guarding_nodes = guarding_nodes(graph)
        self._chosen_nodes = frozenset(stream_nodes or ())
        self._replaces = self._replacing(graph)
        self._waits = waiting_calls(graph, self._guards)
        self._shows_arguments = not checks_arguments(graph)
        self.holds_text = self._is_answer is not None and self._guards.holds_text
        self._result = GraphResult(graph.output_channels, output_schema(graph), output, files)
        self._description = describe_graph(graph, self._input)

    def _thread(self, config: RunnableConfig) -> AbstractContextManager[GraphThread]:
        graph = self._make(config) if self._make else self._graph
        limit = step_limit(graph) if self._make else self._limit
        return self._threads.thread(graph, {**limit, **config})

    def describe(self) -> AgentDescription:
        """Describe the graph by its name, its tools and its input."""
        return self._description

    async def open(self, storage: StateStorage) -> None:
        """Keep the threads of a graph without a checkpointer in the server's database."""
        await self._threads.open(storage)
        nodes = {*checking_nodes(graphs_in(self._graph), self._stream_nodes)}
        if nodes and self.holds_text:
            names = ", ".join(sorted(nodes))
            logger.info("text is held back: the code of %s may change or refuse it", names)

    def stream(self, request: AgentRequest) -> _Events:
        """Run the graph, or resume it after a question.

        Raises:
            InvalidInputError: The message does not fit the graph's input.
        """
        value = None if request.resuming else self._input(request)
        return self._answer(value, request)

    @property
    def resumes(self) -> bool:  # type: ignore[override]
        """Whether the threads outlive the process, so that its runs can be resumed."""
        return self._threads.are_durable

    def resume(self, request: AgentRequest) -> _Events:
        """Resume from the last checkpoint; finished nodes do not run again."""
        value = None if request.resuming else self._input(request)
        return self._answer(value, request, is_recovery=True)

    async def had_effect(self, request: AgentRequest) -> bool:
        """Whether a node may have run since the message."""
        with self._thread({"configurable": {"thread_id": self._threads.key(request)}}) as thread:
            return await has_run_nodes(request, thread)

    async def abandon(self, request: AgentRequest) -> None:
        """Close the open question, so that the conversation can continue."""
        with self._thread({"configurable": {"thread_id": self._threads.key(request)}}) as thread:
            await thread.repair()

    async def aclose(self) -> None:
        """Forget the conversations that only this process remembers."""
        await self._threads.aclose()

    async def _answer(
        self, value: object, request: AgentRequest, *, is_recovery: bool = False
    ) -> _Events:
        watch = RunWatch(request.cancelled, usage_so_far(request))
        key = self._threads.key(request)
        ids = {**caller_with_claims(request), "thread_id": key}
        config = run_config(request, watch, ids, self._make_config)
        context = self._make_context(request) if self._make_context else None
        await self._threads.used(request)
        with self._thread(config) as thread:
            if is_recovery:
                start = await resumed_start(value, request, thread)
            else:
                state = await thread.state()
                start = RunStart(await first_input(value, request, thread, state))
            run = self._run(start, thread, request, watch)
            if start.finished:
                watch.count(start.usages())
                for text in start.texts(request.said, self._is_answer):
                    for chunk in run.transcript.say(text):
                        yield chunk
            if isinstance(start.given, Rejected | InputRequired):
                yield start.given
                return
            run.is_paused = start.given is ASKS_AGAIN
            if start.given is not ASKS_AGAIN and start.given is not FINISHED:
                events = run.events(
                    thread.graph,
                    thread.config,
                    context=context,
                    durability="sync" if self.resumes else None,
                )
                with watch.categorized():
                    async with self._repairing(run, thread, request.cancelled), aclosing(events):
                        async for event in events:
                            yield event
            rest = run.transcript.rest()
            for event in (*rest, *watch.metadata(), *await self._end(run, thread, watch)):
                yield event

    def _run(
        self, start: RunStart, thread: GraphThread, request: AgentRequest, watch: RunWatch
    ) -> GraphRun:
        is_answer, guards, waits = self._is_answer, self._guards, self._waits
        shows, guarding = self._shows_arguments, self._guarding_nodes
        if self._make:  # its graphs may differ from the example
            guards = guards_of(thread.graph, self._stream_nodes)
            waits = waiting_calls(thread.graph, guards)
            shows = not checks_arguments(thread.graph)
            guarding = guarding_nodes(thread.graph)
        if has_strict_callbacks(thread.config):
            guards = guards.or_refusing()
        if guards is Guards.WHOLE or (guards.holds_text and not self.holds_text):
            is_answer = None
        progress = GraphProgress(waits, shows_arguments=shows, guarding_nodes=guarding)
        return GraphRun(
            start,
            is_answer,
            progress if request.wants_progress else None,
            watch.is_structured,
            earlier=TaskSoFar.of(request),
            # The state alone tells which text of an unseen graph its guards have accepted.
            keeps_all=self._stream_nodes is not None and self._keeps_all(thread.graph, guards),
            is_guarded=guards not in (Guards.NONE, Guards.REFUSING),
            is_held=guards is not Guards.NONE,
            is_checked=guards is Guards.STREAMED and is_answer is not None,
            guarding_nodes=guarding,
            may_replace=self._replacing(thread.graph) if self._make else self._replaces,
            answers=self._answers,
            has_chosen=self._stream_nodes is not None,
        )

    def _keeps_all(self, graph: Any, guards: Guards) -> bool:
        """Whether the text of chosen nodes is part of the answer although the state lacks it."""
        if guards is Guards.UNSTREAMED:
            return False
        return guards is Guards.NONE or not changes_text(graphs_in(graph), self._stream_nodes)

    def _replacing(self, graph: Any) -> Callable[[str, str], bool]:
        """Return whether a later node may replace what another one has said, by their names."""

        @functools.cache
        def may_replace(node: str, later: str) -> bool:
            if node != later and self._chosen_nodes.issuperset((node, later)):
                return False
            return leads_to(graph, node, later)

        return may_replace

    @asynccontextmanager
    async def _repairing(
        self, run: GraphRun, thread: GraphThread, cancelled: CancelFlag
    ) -> AsyncGenerator[None]:
        """Repair the thread unless its run completes, or refuses a reply and still waits."""
        try:
            yield
        except BaseException as error:  # also a cancel, and the end of the generator
            if isinstance(error, ValidationError) and is_invalid_resume(error):
                run.complaint = str(InvalidInputError.of(error))
                return
            # If the run was left behind, the next message owns the thread and repairs it.
            if not cancelled.left_behind:
                await thread.repair()
            raise

    def _preceding(self, run: GraphRun, graph: Any, state: StateSnapshot) -> Sequence[AgentEvent]:
        """Return what precedes a question; held text only if all its checks have run."""
        if not run.transcript.is_held:
            return self._result.preceding(run, state)
        checking = [*map(holds_itself, graphs_in(graph))]
        shows_outer, shows_inner = not checking[0], not any(checking)
        return self._result.preceding(run, state, shows_outer=shows_outer, shows_inner=shows_inner)

    async def _end(
        self, run: GraphRun, thread: GraphThread, watch: RunWatch
    ) -> Sequence[AgentEvent]:
        """Return the rest of the answer, or the question."""
        if run.is_paused or run.complaint:
            if thread.graph.checkpointer is False:
                raise TargetError("a graph needs a checkpointer to ask its caller")
            state, position = await thread.state(subgraphs=True), await thread.position()
            preceding = self._preceding(run, thread.graph, state)
            metadata = self._result.so_far(run).as_metadata()
            return [*preceding, question(state, watch.usage, run.complaint, position, metadata)]
        self._threads.tidy(thread)
        return self._result.events(run)


def _forgets(graph: Any) -> bool:
    """Whether this is a workflow that has no state and does not take its previous result."""
    if hasattr(graph, "builder"):
        return False
    bound = next(iter(graph.nodes.values())).bound
    return "previous" not in getattr(bound, "func_accepts", ())


def _refuse_unstreamed_checks(graph: Any) -> None:
    if checks_whole_answers(graph):
        raise TargetError(
            f"{type(graph).__name__} overrides how a graph is invoked, but not how it streams, "
            "which the server uses: check the answer in a node, or override astream, too"
        )


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
