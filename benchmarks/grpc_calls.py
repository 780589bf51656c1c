"""Calls an agent over gRPC: `python grpc_calls.py AGENT PORT SECONDS CALLERS`.

Prints the number of `SendMessage` calls answered with a completed task in that time, or the number
of events of all streams.
"""

from __future__ import annotations

import asyncio
import sys
import time
from uuid import uuid4

import grpc.aio
import uvloop
from a2a.types import Message, Part, Role, SendMessageRequest, TaskState
from a2a.types.a2a_pb2_grpc import A2AServiceStub

CHUNKS = 500
VERSION = (("a2a-version", "1.0"),)
_SECONDS = 120


async def main(agent: str, port: str, seconds: str, callers: str) -> None:
    work = {"echo": call, "stream": read}[agent]
    end = time.perf_counter() + float(seconds)
    async with (
        asyncio.timeout(_SECONDS),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        stub = A2AServiceStub(channel)
        print(sum(await asyncio.gather(*(work(stub, end) for _ in range(int(callers))))))


def request(text: str) -> SendMessageRequest:
    message = Message(message_id=str(uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)])
    return SendMessageRequest(message=message)


async def call(stub: A2AServiceStub, end: float) -> int:
    """Call until a time; return the number of calls."""
    count = 0
    while time.perf_counter() < end:
        answer = await stub.SendMessage(request("hello"), metadata=VERSION)
        assert answer.task.status.state == TaskState.TASK_STATE_COMPLETED
        count += 1
    return count


async def read(stub: A2AServiceStub, end: float) -> int:
    """Read streams until a time; return the number of events."""
    count = 0
    while time.perf_counter() < end:
        stream = stub.SendStreamingMessage(request(str(CHUNKS)), metadata=VERSION)
        events = sum([1 async for _ in stream])
        assert events > CHUNKS
        count += events
    return count


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
