"""The events of a remote agent, until AutoGen's cancellation token is cancelled."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from typing import Unpack

    from autogen_core import CancellationToken

    from a2a_adapters import AgentReply, Conversation, Part, RemoteEvent, SendOptions


async def batches(
    conversation: Conversation,
    parts: Sequence[Part],
    token: CancellationToken | None,
    **options: Unpack[SendOptions],
) -> AsyncGenerator[Sequence[RemoteEvent]]:
    """Send a message and yield the events of its answer, in batches of those that are ready.

    The last event is the whole `AgentReply`. A separate task reads them, because a token can
    only cancel a future. Closing the generator early cancels the remote task.

    Raises:
        RemoteAgentError: The agent does not answer.
        asyncio.CancelledError: The token was cancelled.
    """
    ready: list[RemoteEvent] = []
    changed = asyncio.Event()

    async def read() -> None:
        async with aclosing(conversation.stream(parts, **options)) as stream:
            async for event in stream:
                ready.append(event)
                changed.set()

    reading = asyncio.create_task(read())
    reading.add_done_callback(lambda _: changed.set())
    if token is not None:
        token.link_future(reading)
    try:
        while ready or not reading.done():
            await changed.wait()
            changed.clear()
            batch, ready = ready, []
            if batch:
                yield batch
        await reading
    finally:
        reading.cancel()
        await asyncio.wait({reading})


async def reply_to(
    conversation: Conversation,
    parts: Sequence[Part],
    token: CancellationToken,
    **options: Unpack[SendOptions],
) -> AgentReply:
    """Send a message and return the whole answer.

    Raises:
        RemoteAgentError: The agent does not answer.
        asyncio.CancelledError: The token was cancelled.
    """
    sending = asyncio.ensure_future(conversation.send(parts, **options))
    token.link_future(sending)
    return await sending
