"""What the models of remote agents share: calls in a thread, stop sequences, chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from langchain_core.runnables.config import ensure_config
from pydantic import BaseModel
from typing_extensions import override

from a2a_adapters import AgentReply, ConfigurationError, RemoteAgent, SendOptions
from a2a_adapters_langchain.calling.messages import metadata_of

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Awaitable,
        Callable,
        Collection,
        Generator,
        Iterator,
        Mapping,
        Sequence,
    )

    from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
    from langchain_core.outputs import ChatGenerationChunk, GenerationChunk
    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import Conversation, MessageInput, RemoteEvent


THREAD = "thread_id"

# LangChain itself reads `stream`.
_PLACE = frozenset({"context_id", "task_id", THREAD, "stream"})


def send_options(kwargs: Mapping[str, Any], known: Collection[str] = _PLACE) -> SendOptions:
    """Return the options of a message by the arguments of a model's call.

    Args:
        kwargs: The arguments.
        known: The names of those that have another meaning.

    Raises:
        ConfigurationError: There are others, which an agent has no use for.
    """
    options = SendOptions(
        metadata=kwargs.get("message_metadata"),
        timeout=kwargs.get("timeout"),
        headers=kwargs.get("headers"),
    )
    taken = {"message_metadata", "timeout", "headers", *known}
    given = (name for name, value in kwargs.items() if value is not None)
    if unknown := sorted(set(given) - taken):
        raise ConfigurationError(f"an A2A agent takes no {', '.join(unknown)} in a call")
    return options


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What is sent, and where.

    Attributes:
        conversation: Where.
        message: What.
        task_id: The task it answers; None takes the one that waits now.
        options: What the message has besides.
    """

    conversation: Conversation
    message: MessageInput
    task_id: str | None = None
    options: SendOptions = field(default_factory=SendOptions)

    def send_sync(self) -> AgentReply:
        """Send it and return the whole answer; blocks."""
        return self.conversation.send_sync(self.message, task_id=self.task_id, **self.options)

    def send(self) -> Awaitable[AgentReply]:
        """`send_sync` in async code."""
        return self.conversation.send(self.message, task_id=self.task_id, **self.options)

    def stream_sync(self) -> Generator[RemoteEvent]:
        """Send it and yield the answer as it comes; blocks."""
        return self.conversation.stream_sync(self.message, task_id=self.task_id, **self.options)

    def stream(self) -> AsyncGenerator[RemoteEvent]:
        """`stream_sync` in async code."""
        return self.conversation.stream(self.message, task_id=self.task_id, **self.options)


def thread_of(config: RunnableConfig | None) -> str | None:
    """Return `config["configurable"]["thread_id"]`, of the surrounding run if need be."""
    thread = ensure_config(config).get("configurable", {}).get(THREAD)
    return None if thread is None else str(thread)


def with_thread(kwargs: dict[str, Any], config: RunnableConfig | None) -> dict[str, Any]:
    """Return a model's call arguments with the thread among them, for models see no config."""
    thread = thread_of(config)
    return kwargs if thread is None else {THREAD: thread, **kwargs}


class StopCutter:
    """Ends a stream of text before the first of the stop sequences.

    Args:
        stop: The sequences; none lets everything through.
    """

    def __init__(self, stop: Sequence[str] | None) -> None:
        self._stop = [sequence for sequence in stop or () if sequence]
        self._held = ""
        self.is_done = False
        """Whether a sequence was found; what comes after it is dropped."""

    def add(self, text: str) -> str:
        """Take a piece; return what may be shown. The beginning of a sequence is held back."""
        if not self._stop or self.is_done:
            return "" if self.is_done else text
        self._held += text
        found = [at for sequence in self._stop if (at := self._held.find(sequence)) >= 0]
        if found:
            self.is_done = True
            shown, self._held = self._held[: min(found)], ""
            return shown
        keep = max(self._overlap(sequence) for sequence in self._stop)
        shown = self._held[: len(self._held) - keep]
        self._held = self._held[len(shown) :]
        return shown

    def rest(self) -> str:
        """Return what was held back, at the end of the text."""
        held, self._held = self._held, ""
        return held

    def _overlap(self, sequence: str) -> int:
        """Return how much of the end of the held text may begin `sequence`."""
        longest = min(len(sequence) - 1, len(self._held))
        return next((n for n in range(longest, 0, -1) if self._held.endswith(sequence[:n])), 0)


def cut(text: str, stop: Sequence[str] | None) -> str:
    """Return `text` up to the first stop sequence."""
    cutter = StopCutter(stop)
    return cutter.add(text) + cutter.rest()


Chunk = TypeVar("Chunk", "ChatGenerationChunk", "GenerationChunk")


def chunks(
    events: Generator[RemoteEvent],
    chunk_of: Callable[[RemoteEvent, StopCutter], Chunk | None],
    stop: Sequence[str] | None,
    run_manager: CallbackManagerForLLMRun | None,
) -> Iterator[Chunk]:
    """Yield what each event adds to the answer, and tell the callbacks.

    Args:
        events: What the agent sends; closed at the end, and at the first stop sequence.
        chunk_of: Makes a chunk of an event, None of one that adds nothing.
        stop: The stop sequences.
        run_manager: The callbacks.
    """
    cutter = StopCutter(stop)
    try:
        for event in events:
            chunk = chunk_of(event, cutter)
            if chunk is None:
                continue
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk
            if cutter.is_done:
                break
    finally:
        events.close()


async def achunks(
    events: AsyncGenerator[RemoteEvent],
    chunk_of: Callable[[RemoteEvent, StopCutter], Chunk | None],
    stop: Sequence[str] | None,
    run_manager: AsyncCallbackManagerForLLMRun | None,
) -> AsyncIterator[Chunk]:
    """`chunks` in async code."""
    cutter = StopCutter(stop)
    try:
        async for event in events:
            chunk = chunk_of(event, cutter)
            if chunk is None:
                continue
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk
            if cutter.is_done:
                break
    finally:
        await events.aclose()


class RemoteModel(BaseModel):
    """The fields that all models of remote agents have; each call knows the thread it is made in.

    LangChain's models see no configuration, so that `invoke` and the like hand the thread on.
    """

    agent: RemoteAgent
    context_id: str | None = None

    def __init__(
        self,
        *,
        agent: RemoteAgent | str,
        timeout: float | None = None,
        max_retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> None:
        remote = RemoteAgent.of(agent, timeout=timeout, max_retries=max_retries, headers=headers)
        super().__init__(**{**fields, "agent": remote})

    @property
    def _llm_type(self) -> str:
        return "a2a"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"agent": self.agent.name, "context_id": self.context_id}

    def _told(self, reply: AgentReply) -> dict[str, Any]:
        """Return what LangChain is told about an answer, besides its content."""
        return metadata_of(reply, self.agent.name)

    if not TYPE_CHECKING:  # for type checkers LangChain's own declarations stand

        @override
        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return super().invoke(input, config, **with_thread(kwargs, config))

        @override
        async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return await super().ainvoke(input, config, **with_thread(kwargs, config))

        @override
        def stream(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return super().stream(input, config, **with_thread(kwargs, config))

        @override
        def astream(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return super().astream(input, config, **with_thread(kwargs, config))


_CHECKPOINTS = "checkpoint_map"
"""Where LangGraph tells with which checkpoints a step began: no two steps with the same."""

_lock = Lock()
_waiting: WeakKeyDictionary[Conversation, tuple[Any, str]] = WeakKeyDictionary()
"""The last step that called each conversation, and the task that waited when it began."""


def answered_task(conversation: Conversation, config: RunnableConfig) -> str | None:
    """Return the task that a call answers, "" for none; None, outside of graphs, for any."""
    step = config.get("configurable", {}).get(_CHECKPOINTS)
    if not step:
        return None
    with _lock:
        known, task_id = _waiting.get(conversation, (None, ""))
        if known != step:
            task_id = conversation.task_id
            _waiting[conversation] = (step, task_id)
        return task_id
