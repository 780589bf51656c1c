"""Calls abandoned by their callers."""

from __future__ import annotations

import asyncio

import pytest

from a2a_adapters import (
    RemoteAgent,
    RemoteOptions,
    RemoteTimeoutError,
    build_app,
)
from a2a_adapters.testing import running


async def endless(text: str):
    """Send text until the caller leaves."""
    try:
        while True:
            yield "more "
            await asyncio.sleep(0.01)
    finally:
        ended.set()


ended = asyncio.Event()


@pytest.fixture
async def endless_agent():
    ended.clear()
    async with running(build_app(endless)) as url, RemoteAgent(url) as agent:
        yield agent


async def test_leaving_a_stream_cancels_its_task(endless_agent):
    stream = endless_agent.stream("go")
    await anext(stream)
    await stream.aclose()
    async with asyncio.timeout(60):
        await ended.wait()


async def test_cancelling_a_call_cancels_its_task(endless_agent):
    has_begun = asyncio.Event()

    async def listen():
        async for _ in endless_agent.stream("go"):
            has_begun.set()

    call = asyncio.create_task(listen())
    await has_begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    async with asyncio.timeout(60):
        await ended.wait()


async def test_a_timeout_cancels_its_task():
    ended.clear()
    options = RemoteOptions(timeout=0.2)
    async with running(build_app(endless)) as url, RemoteAgent(url, options=options) as agent:
        with pytest.raises(RemoteTimeoutError) as caught:
            await agent.send("go")
        assert caught.value.task_id
        async with asyncio.timeout(60):
            await ended.wait()


async def test_leaving_a_blocking_stream_cancels_its_task(endless_agent):
    def take_two():
        stream = endless_agent.stream_sync("go")
        taken = [next(stream).text, next(stream).text]
        stream.close()
        return taken

    assert await asyncio.to_thread(take_two) == ["more ", "more "]
    async with asyncio.timeout(60):
        await ended.wait()
    await endless_agent.aclose()
