"""The memory of graphs that were compiled without a checkpointer."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from a2a_adapters.concurrency import BoundedMap

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
    )

    from a2a_adapters import Limits


class ConversationMemory(BaseCheckpointSaver[str]):
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

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a thread's latest checkpoint, or the one `config` names."""
        return self._saver(config).get_tuple(config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the base class's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Iterate over a thread's checkpoints."""
        if config is not None:
            yield from self._saver(config).list(config, filter=filter, before=before, limit=limit)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint."""
        return self._saver(config).put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep what a node has written."""
        self._saver(config).put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        """Forget what a thread knows."""
        self._in_use[thread_id].delete_thread(thread_id)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a thread's latest checkpoint, or the one `config` names."""
        return self.get_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the base class's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Iterate over a thread's checkpoints."""
        for item in self.list(config, filter=filter, before=before, limit=limit):
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint."""
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Keep what a node has written."""
        self.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Forget what a thread knows."""
        self.delete_thread(thread_id)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return the version after `current`."""
        return _VERSIONS.get_next_version(current, channel)


_VERSIONS = InMemorySaver()


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
