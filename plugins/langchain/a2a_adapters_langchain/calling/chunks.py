"""A stream of events as the chunks that a model of LangChain yields."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from a2a_adapters_langchain.calling.stop import StopCutter

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Callable,
        Generator,
        Iterator,
        Sequence,
    )

    from langchain_core.callbacks import (
        AsyncCallbackManagerForLLMRun,
        CallbackManagerForLLMRun,
    )
    from langchain_core.outputs import ChatGenerationChunk, GenerationChunk

Event = TypeVar("Event")
Chunk = TypeVar("Chunk", "ChatGenerationChunk", "GenerationChunk")


def chunks(
    events: Generator[Event],
    chunk_of: Callable[[Event, StopCutter], Chunk | None],
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
    events: AsyncGenerator[Event],
    chunk_of: Callable[[Event, StopCutter], Chunk | None],
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
