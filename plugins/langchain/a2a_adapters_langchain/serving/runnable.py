"""A LangChain runnable as an adapter."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks
from langchain_core.runnables import Runnable, RunnableGenerator, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from a2a_adapters import AgentEvent, AgentRequest, Output, TargetError, Text, TextDelta
from a2a_adapters.plugin import (
    Adapter,
    AgentDescription,
    AnswerText,
    ReasoningFilter,
    check_arguments,
)
from a2a_adapters_langchain.serving.blocking import InThreads
from a2a_adapters_langchain.serving.card import describe_runnable
from a2a_adapters_langchain.serving.config import MakeConfig, run_config
from a2a_adapters_langchain.serving.content import (
    has_text_behind_files,
    message_extras,
    message_parts,
    outputs,
)
from a2a_adapters_langchain.serving.guards import (
    Guards,
    guards_of_runnable,
    has_strict_callbacks,
    is_block,
    refuse_blocking_hooks,
)
from a2a_adapters_langchain.serving.input import runnable_input
from a2a_adapters_langchain.serving.progress import runnable_progress
from a2a_adapters_langchain.serving.schema import (
    AnyRunnable,
    all_steps,
    answers_whole,
    blocks_only,
    declared_schema,
    is_graph,
    is_model,
    tries_again,
)
from a2a_adapters_langchain.serving.watch import RunWatch

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.runnables.schema import StreamEvent

    from a2a_adapters import OutboundPolicy
    from a2a_adapters.plugin import StateStorage
    from a2a_adapters_langchain.serving.input import ReadInput
    from a2a_adapters_langchain.serving.schema import Schema


_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]

_SESSION_KEYS = ("session_id", "conversation_id", "thread_id")
"""The names of a conversation in the memories of runnables."""

_OWNER_KEY = "user_id"


class RunnableAdapter(Adapter):
    """Serves chains, models, retrievers, tools and all other runnables.

    The input follows the runnable's schema (see the module `input`). Runnables that take messages
    receive the earlier turns of the conversation; a `RunnableWithMessageHistory` has a session for
    each conversation of a caller. Text is streamed as the runnable streams it: for a chain this
    is the text of its last step, not of a model inside of it. All other output is sent whole. If
    the stream of a runnable with retries or fallbacks fails, which LangChain applies to calls only,
    its text is withdrawn and the runnable is called again.

    Args:
        runnable: The runnable.
        input: Makes the runnable's input from a request, in place of the rules for its schema.
        output: Makes the answer from the runnable's result. The answer is then sent whole.
        config: Makes the configuration of a run, such as tags and metadata.
        fetch: See `Adapter.fetch`.

    Raises:
        TargetError: The runnable's input cannot be made from a message, an agent that it calls has
            a hook around calls that is not async, or a chain has a memory.
    """

    def __init__(
        self,
        runnable: AnyRunnable,
        *,
        input: Callable[[AgentRequest], object] | None = None,  # noqa: A002 - LangChain's name
        output: Callable[[Any], object] | None = None,
        config: MakeConfig | None = None,
        fetch: OutboundPolicy | None = None,
    ) -> None:
        self.fetch = fetch
        if is_graph(runnable):
            raise TargetError("this is a graph: use GraphAdapter(graph) or adapt(graph)")
        check_arguments(RunnableAdapter, locals())
        for step in filter(is_graph, all_steps(runnable)):
            refuse_blocking_hooks(step)
        self._runnable = runnable
        self._input: ReadInput = input or runnable_input(runnable)
        self._output = output
        self._make_config = config
        self.blocks = any(blocks_only(step) for step in all_steps(runnable))
        self._schema = declared_schema(runnable)
        guards = guards_of_runnable(runnable)
        is_whole = guards is Guards.WHOLE or answers_whole(runnable)
        self._is_whole = output is not None or is_whole
        self.holds_text = guards is Guards.REFUSING and not self._is_whole
        self._has_progress = not is_model(runnable)
        self._tries_again = tries_again(runnable)
        self._description = describe_runnable(runnable, self._input)
        _check_session(runnable)
        _check_memory(runnable)
        self._agent: tuple[str, ...] = ()
        self._ids = _configurable(runnable) | {"thread_id"}
        reads_history = getattr(self._input, "uses_history", True)
        self.uses_history = reads_history and not _remembers(runnable)

    async def open(self, storage: StateStorage) -> None:
        """Add the agent's name to the session ids: another agent may use the same history."""
        self._agent = (storage.agent,)

    def describe(self) -> AgentDescription:
        """Describe the runnable by its name, its tools and its input."""
        return self._description

    def stream(self, request: AgentRequest) -> _Events:
        """Run the runnable.

        Raises:
            InvalidInputError: The message does not fit the runnable's input.
        """
        value = self._input(request)
        watch = RunWatch(request.cancelled)
        config = self._config(request, watch)
        chain = self._runnable
        if self.blocks:
            chain = InThreads(chain, request.task_id)
        is_whole = self._is_whole or (not self.holds_text and has_strict_callbacks(config))
        if request.wants_progress and self._has_progress:
            return self._run_with_progress(chain, value, config, watch, is_whole=is_whole)
        if is_whole:
            return self._run_whole(chain, value, config, watch)
        return self._run(chain, value, config, watch)

    async def _run(
        self, chain: AnyRunnable, value: object, config: RunnableConfig, watch: RunWatch
    ) -> _Events:
        answer, said = Answer(), ""
        chunks = cast("AsyncGenerator[object]", chain.astream(value, config))
        with watch.categorized():
            try:
                async with aclosing(chunks):
                    async for chunk in chunks:
                        if text := answer.add(chunk):
                            said = text
                            yield TextDelta(text)
                rest = _corrected(said, answer.rest(self._schema), watch.corrected)
            except Exception as error:
                if is_block(error) or not self._tries_again:
                    raise
                yield AnswerText("")
                rest = answer.replaced(self._whole(await chain.ainvoke(value, config)))
        for event in (*rest, *watch.metadata()):
            yield event

    async def _run_whole(
        self, chain: AnyRunnable, value: object, config: RunnableConfig, watch: RunWatch
    ) -> _Events:
        with watch.categorized():
            result = await chain.ainvoke(value, config)
        for event in (*self._whole(result), *watch.metadata()):
            yield event

    async def _run_with_progress(
        self,
        chain: AnyRunnable,
        value: object,
        config: RunnableConfig,
        watch: RunWatch,
        *,
        is_whole: bool,
    ) -> _Events:
        """Run with `astream_events`, which is slower, for clients that follow the progress."""
        answer, said = Answer(), ""
        result: object = None
        root = ""
        # `astream_events` streams all steps, and graphs stream something else than they return.
        # Both report a run of their own, which classes of your own need not do.
        source = RunnableLambda(chain.ainvoke) if is_whole else _generator(chain)
        events = cast(
            "AsyncGenerator[StreamEvent]",
            source.astream_events(value, config, version="v2"),
        )
        with watch.categorized():
            try:
                async with aclosing(events):
                    async for event in events:
                        root = root or event["run_id"]
                        for progress in runnable_progress(event):
                            yield progress
                        if event["run_id"] != root:
                            continue
                        if event["event"].endswith("_end"):
                            result = event["data"].get("output")
                        chunk = event["data"].get("chunk")
                        if chunk is not None and not is_whole and (text := answer.add(chunk)):
                            said = text
                            yield TextDelta(text)
                if is_whole:
                    rest: Sequence[AgentEvent] = self._whole(result)
                else:
                    rest = _corrected(said, answer.rest(self._schema), watch.corrected)
            except Exception as error:
                if is_block(error) or not self._tries_again:
                    raise
                yield AnswerText("")
                rest = answer.replaced(self._whole(await chain.ainvoke(value, config)))
        for last in (*rest, *watch.metadata()):
            yield last

    def _config(self, request: AgentRequest, watch: RunWatch) -> RunnableConfig:
        key = request.conversation_key(*self._agent)
        ids = {_OWNER_KEY: request.owner, **dict.fromkeys(_SESSION_KEYS, key)}
        wanted = {name: value for name, value in ids.items() if name in self._ids}
        return run_config(request, watch, wanted, self._make_config)

    def _whole(self, result: object) -> Sequence[Output]:
        if self._output:
            return outputs(self._output(result))
        return outputs(result, self._schema)


def _generator(chain: AnyRunnable) -> RunnableGenerator[Any, Any]:
    """Return a runnable that streams as a chain does; it takes nothing but generator functions."""

    async def transform(given: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for chunk in chain.atransform(given):
            yield chunk

    return RunnableGenerator(transform)


def _corrected(last: str, rest: Sequence[AgentEvent], text: str | None) -> Sequence[AgentEvent]:
    """Replace the text if its last chunk repeats `text`, by which a remote agent corrects it."""
    ends = "".join((last, *(event.text for event in rest if isinstance(event, TextDelta))))
    if text is None or not ends.endswith(text):
        return rest
    return [AnswerText(text), *(each for each in rest if not isinstance(each, TextDelta))]


def _configurable(runnable: AnyRunnable) -> set[str]:
    """Return the ids of the fields that a configuration may set."""
    try:
        return {spec.id for spec in runnable.config_specs}
    except RecursionError:  # a function in the chain returns the chain
        return set()


def _remembers(runnable: AnyRunnable) -> bool:
    """Whether a step of the chain keeps the conversation itself."""
    return any(
        isinstance(step, RunnableWithMessageHistory)
        or (is_graph(step) and bool(getattr(step, "checkpointer", None)))
        for step in all_steps(runnable)
    )


def _check_session(runnable: AnyRunnable) -> None:
    for step in all_steps(runnable):
        if isinstance(step, RunnableWithMessageHistory):
            names = {spec.id for spec in step.history_factory_config}
            if unknown := sorted(names - {_OWNER_KEY, *_SESSION_KEYS}):
                raise TargetError(
                    f"the history's factory takes {', '.join(unknown)}, which requests do not "
                    f"have; use {', '.join((*_SESSION_KEYS, _OWNER_KEY))}"
                )


def _check_memory(runnable: AnyRunnable) -> None:
    """Refuse chains of LangChain's classic package whose memory all callers would share."""
    waiting: list[Any] = list(all_steps(runnable))
    for step in waiting:  # which grows
        if not hasattr(step, "memory"):
            continue
        kind = type(step.memory)
        if hasattr(kind, "load_memory_variables") and kind.__name__ != "SimpleMemory":
            raise TargetError(
                f"{type(step).__name__} has a memory, which would mix the callers' conversations: "
                "remove it, and wrap the chain in a RunnableWithMessageHistory"
            )
        for value in vars(step).values():
            inner = value if isinstance(value, list | tuple) else [value]
            waiting += [each for each in inner if isinstance(each, Runnable)]


class Answer:
    """One answer: its text is sent at once, all other output at the end."""

    def __init__(self) -> None:
        self._value: object = None
        self._reasoning = ReasoningFilter()
        self._blocks: list[AIMessageChunk] = []
        self._texts: list[str] = []
        """The text since the last chunk with blocks."""

    def add(self, chunk: object) -> str:
        """Add a chunk and return the text to send now."""
        if isinstance(chunk, AIMessageChunk):
            if type(chunk.content) is str and not chunk.tool_call_chunks:
                self._texts.append(chunk.content)
                return self._reasoning.add(chunk.content)
            self._blocks += [*self._texts_between(), chunk]
            return self._reasoning.add(str(chunk.text))
        if isinstance(chunk, str):
            return self._reasoning.add(str(chunk))
        self._value = chunk if self._value is None else _joined(self._value, chunk)
        return ""

    def replaced(self, outputs: Sequence[Output]) -> list[AgentEvent]:
        """Return the events that put a whole answer in the place of the text so far."""
        parts = [part for output in outputs for part in output.parts]
        texts = [*takewhile(lambda part: isinstance(part, Text), parts)]
        others = parts[len(texts) :]
        whole = "".join(part.text for part in texts if isinstance(part, Text))
        return [AnswerText(whole), *([Output(others)] if others else [])]

    def rest(self, schema: Schema | None) -> list[AgentEvent]:
        """Return the rest of the text and all other output."""
        text = self._reasoning.rest()
        rest: list[AgentEvent] = [TextDelta(text)] if text else []
        rest += outputs(self._value, schema)
        if self._blocks:
            message = add_ai_message_chunks(*self._blocks, *self._texts_between())
            if has_text_behind_files(message_parts(message)):
                return [AnswerText(""), *rest[1 if text else 0 :], *outputs(message)]
            rest += outputs(message_extras(message) or None)
        return rest

    def _texts_between(self) -> list[AIMessageChunk]:
        text, self._texts = "".join(self._texts), []
        return [AIMessageChunk(content=text)] if text else []


def _joined(value: Any, chunk: Any) -> object:
    """Join chunks as LangChain does: chunks that cannot be added are snapshots."""
    try:
        return value + chunk
    except TypeError:
        return chunk
