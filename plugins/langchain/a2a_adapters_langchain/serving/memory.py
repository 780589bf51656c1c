"""Where a graph's conversations are kept: the threads of a checkpointer, the graph's or another."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from typing_extensions import override

from a2a_adapters import TargetError
from a2a_adapters.concurrency import BoundedMap
from a2a_adapters_langchain.serving.config import conversation_key, conversation_uuid
from a2a_adapters_langchain.serving.speakers import has_remote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        CheckpointTuple,
    )

    from a2a_adapters import AgentRequest, Limits, StateStorage


class ConversationMemory(InMemorySaver):
    """A checkpointer that forgets idle conversations.

    Every thread has an `InMemorySaver` of its own, so that dropping one costs nothing. One
    that is in use is never dropped: half of a state would be worse than none.

    Args:
        limits: How many conversations are kept, and for how long.
        keeps_steps: Whether every step of a run stays, which `DeltaChannel` needs.
    """

    def __init__(self, limits: Limits, *, keeps_steps: bool = False) -> None:
        super().__init__()
        self._keeps_steps = keeps_steps
        self._in_use: dict[str, InMemorySaver] = {}
        self._idle: BoundedMap[str, InMemorySaver] = BoundedMap(
            limits.conversations, limits.history_seconds
        )

    @contextmanager
    def use(self, thread_id: str) -> Iterator[None]:
        """Hold on to a thread while a run needs it."""
        self._in_use[thread_id] = self._idle.pop(thread_id) or InMemorySaver()
        try:
            yield
        finally:
            self._idle[thread_id] = self._in_use.pop(thread_id)

    def tidy(self, thread_id: str) -> None:
        """Drop what a thread needs no more once a run has ended: all but the last state."""
        if not self._keeps_steps:
            _keep_latest(self._in_use[thread_id], thread_id)

    def clear(self) -> None:
        """Forget everything that is not in use."""
        self._idle.clear()

    def _saver(self, config: RunnableConfig) -> InMemorySaver:
        saver = self._in_use[config["configurable"]["thread_id"]]
        saver.serde = self.serde  # LangGraph uses clones of `self` that differ in this
        return saver

    @override
    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._saver(config).get_tuple(config)

    @override
    def list(self, config: RunnableConfig | None, **options: Any) -> Iterator[CheckpointTuple]:
        if config is not None:
            yield from self._saver(config).list(config, **options)

    @override
    def put(self, config: RunnableConfig, *args: Any, **kwargs: Any) -> RunnableConfig:
        return self._saver(config).put(config, *args, **kwargs)

    @override
    def put_writes(self, config: RunnableConfig, *args: Any, **kwargs: Any) -> None:
        self._saver(config).put_writes(config, *args, **kwargs)

    @override
    def get_delta_channel_history(self, *, config: RunnableConfig, **kwargs: Any) -> Any:
        return self._saver(config).get_delta_channel_history(config=config, **kwargs)

    @override
    def delete_thread(self, thread_id: str) -> None:
        self._in_use[thread_id].delete_thread(thread_id)


def _keep_latest(saver: InMemorySaver, thread_id: str) -> None:
    needed: set[tuple[str, str]] = set()
    versions: set[tuple[str, str, str | int | float]] = set()
    namespaces = saver.storage[thread_id]
    for namespace, checkpoints in list(namespaces.items()):
        if ":" in namespace or not checkpoints:  # an inner graph's run, which is over too
            del namespaces[namespace]
            continue
        latest = max(checkpoints)
        namespaces[namespace] = {latest: checkpoints[latest]}
        needed.add((namespace, latest))
        state = saver.serde.loads_typed(checkpoints[latest][0])
        versions |= {(namespace, *item) for item in state["channel_versions"].items()}
    for write in [key for key in saver.writes if key[1:] not in needed]:
        del saver.writes[write]
    for blob in [key for key in saver.blobs if key[1:] not in versions]:
        del saver.blobs[blob]


_KIND = "langgraph"

logger = logging.getLogger(__name__)


class Threads:
    """The threads of one graph.

    A graph that has a checkpointer keeps it. One without gets LangGraph's own in the server's
    database, or as long as there is none a memory in this process.

    Args:
        graph: The graph.
        limits: Bounds of the memory.

    Raises:
        TargetError: The graph's checkpointer has no async methods.
    """

    def __init__(self, graph: Any, limits: Limits) -> None:
        self._make_key = conversation_uuid if has_remote(graph) else conversation_key
        self._memory = _memory_for(graph, limits)
        self._saver: BaseCheckpointSaver[str] | None = self._memory
        self._own = graph.checkpointer
        self._agent: tuple[str, ...] = ()
        self._storage: StateStorage | None = None
        self._opened = AsyncExitStack()

    @property
    def are_durable(self) -> bool:
        """Whether they outlive this process."""
        kept_in = self._saver or self._own
        is_saver = isinstance(kept_in, BaseCheckpointSaver)
        return is_saver and not isinstance(kept_in, InMemorySaver)

    def key(self, request: AgentRequest) -> str:
        """Return the name of a caller's conversation."""
        return self._make_key(request, *self._agent)

    def remembering(self, graph: Any) -> Any:
        """Return a graph as one that keeps its threads here."""
        return graph.copy({"checkpointer": self._saver}) if self._saver else graph

    def held(self, key: str) -> AbstractContextManager[None]:
        """Return what keeps a thread while it is in use, where it could be forgotten."""
        if self._memory is not None and self._saver is self._memory:
            return self._memory.use(key)
        return nullcontext()

    def tidy(self, key: str) -> None:
        """Drop what a thread needs no more once a run has ended, where memory is short."""
        if self._memory is not None and self._saver is self._memory:
            self._memory.tidy(key)

    async def open(self, storage: StateStorage) -> None:
        """Keep threads in the server's database from now on, if the graph has no checkpointer.

        Another agent may have the same checkpointer: from now on they are this agent's.
        """
        self._agent = (storage.agent,)
        if self._memory is None or not storage.is_durable:
            return
        try:
            from a2a_adapters_langchain.serving.checkpointer import (  # noqa: PLC0415 - an extra
                open_checkpointer,
            )

            saver = await self._opened.enter_async_context(open_checkpointer(storage.url))
        except ModuleNotFoundError:
            logger.warning(
                "the graph of %s forgets its conversations when the server stops; LangGraph's "
                "checkpointer comes with: pip install 'a2a-adapters[langgraph-%s]'",
                storage.agent,
                storage.url.partition(":")[0],
            )
            return
        self._saver, self._storage = saver, storage
        storage.forget_elsewhere(_KIND, saver.adelete_thread)

    async def used(self, request: AgentRequest) -> None:
        """Note that a thread in the server's database is in use, so that it is not forgotten."""
        if self._storage is not None:
            place = request.owner, request.context_id
            await self._storage.keep_elsewhere(*place, _KIND, self.key(request))

    async def aclose(self) -> None:
        """Disconnect, and forget all that only this process remembers."""
        self._saver, self._agent, self._storage = self._memory, (), None
        await self._opened.aclose()
        if self._memory is not None:
            self._memory.clear()


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
