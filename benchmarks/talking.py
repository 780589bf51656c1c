"""Reads streams of an agent that talks: `python talking.py API PORT STREAMS TOKENS`.

Prints as JSON how old each token was when it was read, the time to each first token, and the CPU
time that reading took. Every token holds the time at which it was said.
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import sys
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from functools import partial
from uuid import uuid4

import uvloop
from front_ends import OWN
from load import COMPLETED, Reader, request
from servers import SPREAD_SECONDS

_SAID = re.compile(r"<([\d.]+)>")


class Heard:
    """Notes how old each of `tokens` tokens of a stream is when it is read.

    Some APIs repeat all of them in the last event, which does not count.
    """

    def __init__(self, tokens: int) -> None:
        self.asked_at = time.monotonic()
        self.delays: list[float] = []
        self.first = 0.0
        self._tokens = tokens

    def note(self, text: str) -> None:
        now = time.monotonic()
        said = _SAID.findall(text)[: self._tokens - len(self.delays)]
        if said and not self.delays:
            self.first = now - self.asked_at
        self.delays += [now - float(each) for each in said]


class Listener(Reader):
    """Reads a stream of Server-Sent Events."""

    def __init__(self, heard: Heard, ended: re.Pattern[bytes]) -> None:
        super().__init__(ended)
        self._heard = heard
        self._waiting = False

    def data_received(self, data: bytes) -> None:
        self._heard.note(data.decode("latin-1"))
        super().data_received(data)


@asynccontextmanager
async def sse(make: Callable[[str], bytes], ended: re.Pattern[bytes], port: int):
    loop = asyncio.get_running_loop()

    async def read(heard: Heard, tokens: str) -> None:
        listener = partial(Listener, heard, ended)
        _, reader = await loop.create_connection(listener, "127.0.0.1", port)
        reader.start(iter([make(tokens)]))
        await reader.done

    yield read


@asynccontextmanager
async def grpc(port: int):
    import grpc.aio
    import grpc_calls
    from a2a.types.a2a_pb2_grpc import A2AServiceStub

    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = A2AServiceStub(channel)

        async def read(heard: Heard, tokens: str) -> None:
            call = grpc_calls.request(tokens)
            async for event in stub.SendStreamingMessage(call, metadata=grpc_calls.VERSION):
                note_event(heard, event)

        yield read


@asynccontextmanager
async def remote_agent(port: int):
    from a2a_adapters import RemoteAgent

    async with RemoteAgent(f"http://127.0.0.1:{port}") as agent:

        async def read(heard: Heard, tokens: str) -> None:
            async for event in agent.stream(tokens):
                if text := getattr(event, "text", ""):
                    heard.note(text)

        yield read


@asynccontextmanager
async def sdk_client(port: int):
    import httpx
    from a2a.client import ClientConfig, create_client
    from a2a.types import Message, Part, Role, SendMessageRequest

    unlimited = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=None, limits=unlimited) as http:
        client = await create_client(f"http://127.0.0.1:{port}", ClientConfig(httpx_client=http))

        async def read(heard: Heard, tokens: str) -> None:
            parts = [Part(text=tokens)]
            message = Message(message_id=str(uuid4()), role=Role.ROLE_USER, parts=parts)
            async for event in client.send_message(SendMessageRequest(message=message)):
                note_event(heard, event)

        yield read


def note_event(heard: Heard, event) -> None:
    """Note the text of an event of a2a-sdk."""
    if event.WhichOneof("payload") == "artifact_update":
        for part in event.artifact_update.artifact.parts:
            heard.note(part.text)


def sending(path: str) -> Callable[[str], bytes]:
    return lambda text: request("SendStreamingMessage", text, path)


READERS = {
    "JSON-RPC": partial(sse, sending("/"), COMPLETED),
    "HTTP+JSON": partial(sse, sending("/message:stream"), COMPLETED),
    "gRPC": grpc,
    "RemoteAgent": remote_agent,
    "a2a-sdk's client": sdk_client,
} | {name: partial(sse, *OWN[name]) for name in ("Chat Completions", "Responses", "AG-UI")}


async def listen(api: str, port: int, streams: int, tokens: int) -> dict[str, object]:
    """Read streams, whose starts are spread over time."""
    async with READERS[api](port) as read:
        await read(Heard(1), "1")  # so that no figure has the time of imports and of the card

        async def one(number: int) -> Heard:
            await asyncio.sleep(number * SPREAD_SECONDS / streams)
            heard = Heard(tokens)
            await read(heard, str(tokens))
            return heard

        before, began = seconds(), time.monotonic()
        heard = await asyncio.gather(*map(one, range(streams)))
        return {
            "delays": [delay for each in heard for delay in each.delays],
            "firsts": [each.first for each in heard],
            "seconds": seconds() - before,
            "lasted": time.monotonic() - began,
        }


def seconds() -> float:
    """Return the CPU time of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    print(json.dumps(uvloop.run(listen(sys.argv[1], *map(int, sys.argv[2:])))))
