"""Keeps the conversations of a graph: each is a thread of a checkpointer."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from a2a_adapters import AgentRequest, TargetError
from a2a_adapters.concurrency import BoundedMap
from a2a_adapters_langchain.serving.answer_nodes import has_remote
from a2a_adapters_langchain.serving.checkpointer import open_checkpointer
from a2a_adapters_langchain.serving.config import conversation_uuid
from a2a_adapters_langchain.serving.thread import GraphThread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import Limits
    from a2a_adapters.plugin import StateStorage

_KIND = "langgraph"

logger = logging.getLogger(__name__)


class Threads:
    """The threads of one graph.

    A graph with a checkpointer keeps it. One without gets LangGraph's own checkpointer in the
    server's database or, without a database, a memory in this process that forgets idle
    conversations.

    Args:
        graph: The graph.
        limits: Bounds the memory in this process.

    Raises:
        TargetError: The graph's checkpointer has no async methods.
    """

    def __init__(self, graph: Any, limits: Limits) -> None:
        self._own = None if graph.checkpointer is True else graph.checkpointer
        if self._own and _is_blocking(self._own):
            kind = type(self._own).__name__
            raise TargetError(f"{kind} has no async methods: use its async variant, Async{kind}")
        self._make_key = conversation_uuid if has_remote(graph) else AgentRequest.conversation_key
        self._agent: tuple[str, ...] = ()
        self._saver: BaseCheckpointSaver[str] | None = None
        self._storage: StateStorage | None = None
        self._opened = AsyncExitStack()
        # A saver for each thread, because deleting a thread of a large one is slow.
        self._savers: BoundedMap[str, InMemorySaver] = BoundedMap(
            limits.conversations, limits.history_seconds
        )
        self._needs_steps = any(isinstance(each, DeltaChannel) for each in graph.channels.values())

    @property
    def are_durable(self) -> bool:
        """Whether the threads outlive this process."""
        saver = self._saver or self._own
        return isinstance(saver, BaseCheckpointSaver) and not isinstance(saver, InMemorySaver)

    def key(self, request: AgentRequest) -> str:
        """Return the thread id of a caller's conversation."""
        return self._make_key(request, *self._agent)

    @contextmanager
    def thread(self, graph: Any, config: RunnableConfig) -> Iterator[GraphThread]:
        """Yield the thread of a run, with a checkpointer that is not evicted meanwhile."""
        if self._own is not None:
            yield GraphThread(graph, config, self.are_durable)
        elif self._saver:
            yield GraphThread(graph.copy({"checkpointer": self._saver}), config, is_durable=True)
        else:
            key = config["configurable"]["thread_id"]
            saver = self._savers.get(key) or InMemorySaver()
            self._savers[key] = saver
            try:
                yield GraphThread(graph.copy({"checkpointer": saver}), config, is_durable=False)
            finally:
                self._savers[key] = self._savers.pop(key) or saver

    def tidy(self, thread: GraphThread) -> None:
        """Drop the intermediate states of a thread in this process whose run has ended."""
        if self._own is None and self._saver is None and not self._needs_steps:
            _keep_latest(thread.graph.checkpointer, thread.config["configurable"]["thread_id"])

    async def open(self, storage: StateStorage) -> None:
        """Keep the threads in the server's database, unless the graph has a checkpointer.

        From now on the thread ids contain the agent's name, because another agent may use the same
        checkpointer.
        """
        self._agent = (storage.agent,)
        if self._own is not None or not storage.is_durable:
            return
        try:
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
        """Record the use of a thread in the server's database, so that it is kept."""
        if self._storage is not None:
            conversation = request.owner, request.context_id
            await self._storage.keep_elsewhere(*conversation, _KIND, self.key(request))

    async def aclose(self) -> None:
        """Close the database, and forget the threads in this process."""
        self._saver, self._agent, self._storage = None, (), None
        await self._opened.aclose()
        self._savers.clear()


def _is_blocking(saver: BaseCheckpointSaver[Any]) -> bool:
    kind = type(saver)
    if kind.__module__ == "langgraph.checkpoint.sqlite":  # its async methods only raise
        return True
    return kind.aget_tuple is BaseCheckpointSaver.aget_tuple


def _keep_latest(saver: InMemorySaver, thread_id: str) -> None:
    """Drop all states of a thread but the latest, and those of finished subgraphs."""
    needed: set[tuple[str, str]] = set()
    versions: set[tuple[str, str, str | int | float]] = set()
    namespaces = saver.storage[thread_id]
    for namespace, checkpoints in list(namespaces.items()):
        if ":" in namespace or not checkpoints:  # a subgraph of the finished run
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
