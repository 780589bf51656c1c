"""Shared by the models of remote agents: threads, call options, stop sequences, streaming."""

from __future__ import annotations

import logging
from contextlib import aclosing, closing
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from langchain_core.runnables.config import ensure_config
from pydantic import BaseModel, SecretStr
from typing_extensions import override

from a2a_adapters import AgentReply, ConfigurationError, RemoteAgent, SendOptions
from a2a_adapters_langchain.calling.messages import metadata_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence

    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import Conversation
    from a2a_adapters.plugin import MessageInput


THREAD = "thread_id"

_SAMPLING = frozenset({"temperature", "max_tokens"})
"""Standard parameters of LangChain's models that no remote agent can follow."""

_KNOWN = _SAMPLING | {"context_id", "task_id", THREAD, "stream"}  # LangChain itself reads `stream`

logger = logging.getLogger(__name__)


class CallOptions(SendOptions, total=False):
    """The options of a message, and the task it answers; None is the task that waits now."""

    task_id: str | None


class Call(NamedTuple):
    """A message, its conversation and its options."""

    conversation: Conversation
    message: MessageInput
    options: CallOptions


def call_options(kwargs: Mapping[str, Any], known: Collection[str] = _KNOWN) -> CallOptions:
    """Return the options of a message from the keyword arguments of a model call.

    Args:
        kwargs: The arguments.
        known: The names of further arguments that the model accepts.

    Raises:
        ConfigurationError: An agent does not support one of the arguments.
    """
    accepted = {"message_metadata", "timeout", "headers", *known}
    given = {name for name, value in kwargs.items() if value is not None}
    if unknown := sorted(given - accepted):
        raise ConfigurationError(f"an A2A agent takes no {', '.join(unknown)} in a call")
    return CallOptions(
        metadata=kwargs.get("message_metadata"),
        timeout=kwargs.get("timeout"),
        headers=kwargs.get("headers"),
        task_id=kwargs.get("task_id"),
    )


def thread_of(config: RunnableConfig | None) -> str | None:
    """Return `config["configurable"]["thread_id"]`, by default that of the surrounding run."""
    thread = ensure_config(config).get("configurable", {}).get(THREAD)
    return None if thread is None else str(thread)


class StopCutter:
    """Ends a stream of text before the first stop sequence.

    Args:
        stop: The stop sequences; without any, all text passes.
    """

    def __init__(self, stop: Sequence[str] | None) -> None:
        self.stop = [sequence for sequence in stop or () if sequence]
        self._held = ""
        self.is_done = False
        """Whether a sequence was found; all further text is dropped."""

    def add(self, text: str) -> str:
        """Add a chunk and return the text to show; holds back the beginning of a sequence."""
        if not self.stop or self.is_done:
            return "" if self.is_done else text
        self._held += text
        found = [at for sequence in self.stop if (at := self._held.find(sequence)) >= 0]
        if found:
            self.is_done = True
            shown, self._held = self._held[: min(found)], ""
            return shown
        keep = max(self._overlap(sequence) for sequence in self.stop)
        shown = self._held[: len(self._held) - keep]
        self._held = self._held[len(shown) :]
        return shown

    def rest(self) -> str:
        """Return the held text at the end of the stream."""
        held, self._held = self._held, ""
        return held

    def _overlap(self, sequence: str) -> int:
        """Return the length of the held text's end that may begin `sequence`."""
        longest = min(len(sequence) - 1, len(self._held))
        return next((n for n in range(longest, 0, -1) if self._held.endswith(sequence[:n])), 0)


def cut(text: str, stop: Sequence[str] | None) -> str:
    """Return `text` up to the first stop sequence."""
    cutter = StopCutter(stop)
    return cutter.add(text) + cutter.rest()


class RemoteModel(BaseModel):
    """The common part of the models of remote agents.

    LangChain passes no configuration to a model's implementation, so `invoke` and the other
    public methods pass the thread on as an argument of the call.

    LangChain's standard parameters are accepted: `stop` ends the answer of each call that has no
    stop sequences of its own; `temperature` and `max_tokens` have no effect on an agent.

    Subclasses implement `_call`, which returns the `Call` for a prompt, and `_chunk`, which
    converts an event to a chunk, or to None if it adds nothing to the answer.
    """

    agent: RemoteAgent
    context_id: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: list[str] | None = None

    def __init__(
        self,
        *,
        agent: RemoteAgent | str,
        timeout: float | None = None,
        max_retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        api_key: str | SecretStr | None = None,
        **fields: Any,
    ) -> None:
        if api_key is not None:
            key = api_key.get_secret_value() if isinstance(api_key, SecretStr) else api_key
            headers = {"Authorization": f"Bearer {key}", **(headers or {})}
        remote = RemoteAgent.of(agent, timeout=timeout, max_retries=max_retries, headers=headers)
        super().__init__(**{**fields, "agent": remote})
        if unused := sorted(name for name in _SAMPLING if getattr(self, name) is not None):
            logger.warning("%s: no effect on the agent %s", ", ".join(unused), remote.name)

    @property
    def _llm_type(self) -> str:
        return "a2a"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"agent": self.agent.name, "context_id": self.context_id}

    def _metadata(self, reply: AgentReply) -> dict[str, Any]:
        """Return the metadata of an answer; subclasses may have their own."""
        return metadata_of(reply, self.agent.name)

    if not TYPE_CHECKING:  # type checkers see LangChain's own declarations

        @override
        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return super().invoke(input, config, **_with_thread(kwargs, config))

        @override
        async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return await super().ainvoke(input, config, **_with_thread(kwargs, config))

        @override
        def stream(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return super().stream(input, config, **_with_thread(kwargs, config))

        @override
        def astream(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            return super().astream(input, config, **_with_thread(kwargs, config))

        @override
        def _stream(
            self, prompt: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> Iterator[Any]:
            conversation, message, options = self._call(prompt, kwargs)
            cutter = StopCutter(stop or self.stop)
            with closing(conversation.stream_sync(message, **options)) as events:
                for event in events:
                    if (chunk := self._chunk(event, cutter)) is None:
                        continue
                    if run_manager:
                        run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk
                    if cutter.is_done:
                        break

        @override
        async def _astream(
            self, prompt: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> AsyncIterator[Any]:
            conversation, message, options = self._call(prompt, kwargs)
            cutter = StopCutter(stop or self.stop)
            async with aclosing(conversation.stream(message, **options)) as events:
                async for event in events:
                    if (chunk := self._chunk(event, cutter)) is None:
                        continue
                    if run_manager:
                        await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk
                    if cutter.is_done:
                        break


def _with_thread(kwargs: dict[str, Any], config: RunnableConfig | None) -> dict[str, Any]:
    thread = thread_of(config)
    return kwargs if thread is None else {THREAD: thread, **kwargs}


_STEP = "checkpoint_map"
"""Key in LangGraph's configuration: the checkpoints a step began with, unique for each step."""

_lock = Lock()
_waiting: WeakKeyDictionary[Conversation, tuple[Any, str]] = WeakKeyDictionary()
"""For each conversation the last step that used it, and the task that waited when it began."""


def answered_task(conversation: Conversation, config: RunnableConfig) -> str | None:
    """Return the task that a call from a graph answers, "" for none.

    All calls of one step answer the task that waited when the step began, so that a node does not
    answer the question that a parallel node has just received. Outside of graphs it is None, the
    task that waits now.
    """
    step = config.get("configurable", {}).get(_STEP)
    if not step:
        return None
    with _lock:
        known, task_id = _waiting.get(conversation, (None, ""))
        if known != step:
            task_id = conversation.task_id
            _waiting[conversation] = (step, task_id)
        return task_id
