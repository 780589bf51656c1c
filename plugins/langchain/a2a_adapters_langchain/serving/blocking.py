"""Runs chains with blocking steps in threads."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import Runnable

from a2a_adapters.plugin import run_in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from langchain_core.runnables import RunnableConfig

    from a2a_adapters_langchain.serving.schema import AnyRunnable

_END = object()


class InThreads(Runnable[Any, Any]):
    """Async methods for a chain without any: one of its steps is a blocking generator function.

    Args:
        chain: The chain.
        task_id: The task that the threads work for.
    """

    def __init__(self, chain: AnyRunnable, task_id: str) -> None:
        self._chain = chain
        self._task_id = task_id

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002
        """Run the chain in this thread."""
        return self._chain.invoke(input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:  # noqa: A002
        """Run the chain in a thread."""
        return await run_in_thread(partial(self.invoke, input, config), self._task_id)

    async def astream(
        self,
        input: Any,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,
        **_: Any,
    ) -> AsyncGenerator[Any]:
        """Make each chunk in a thread, and close the chain in a thread."""
        chunks = _Chunks(self._chain.stream(input, config))
        try:
            while (chunk := await run_in_thread(chunks.next, self._task_id)) is not _END:
                yield chunk
        except BaseException:  # also a cancel, and the end of this generator
            # Not awaited, because the current chunk may never come.
            asyncio.get_running_loop().run_in_executor(None, chunks.close)
            raise


class _Chunks:
    """Chunks of a blocking generator. It is closed between two chunks."""

    def __init__(self, source: Any) -> None:
        self._source: Generator[Any] = source
        self._turn = threading.Lock()
        self._is_closed = False

    def next(self) -> object:
        """Return the next chunk, or `_END`."""
        with self._turn:
            chunk = next(self._source, _END)
        if self._is_closed:
            self.close()
        return chunk

    def close(self) -> None:
        """Close the generator now or, while it makes a chunk, after that."""
        self._is_closed = True
        if self._turn.acquire(blocking=False):
            try:
                self._source.close()
            finally:
                self._turn.release()
