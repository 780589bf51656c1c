"""Workflows of Temporal, their workers, and a server in memory."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from base64 import b64decode
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from a2a_adapters_temporal import A2AActivity, A2ACaller, A2ARequest, emitting

    from a2a_adapters import AgentRequest
    from a2a_adapters.testing import user_message

SECRET = "hunter2"
QUEUE = "agents"
SERVER = Path(sys.executable).with_name("temporal-test-server")
REMOTE = A2AActivity("remote", "http://127.0.0.1:1")


@workflow.defn
class Echo:
    @workflow.run
    async def run(self, text: str) -> str:
        return text


@workflow.defn
class Silent:
    @workflow.run
    async def run(self, text: str) -> None:
        return None


@workflow.defn
class Failing:
    @workflow.run
    async def run(self, text: str) -> str:
        raise ApplicationError(SECRET)


@workflow.defn
class FailingMidway:
    @workflow.init
    def __init__(self, text: str) -> None:
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, text: str) -> str:
        self.caller.emit("begun")
        raise ApplicationError(SECRET)


@workflow.defn
class Endless:
    @workflow.run
    async def run(self, text: str) -> None:
        await asyncio.Event().wait()


@workflow.defn
class Asking:
    @workflow.init
    def __init__(self, text: str) -> None:
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, text: str) -> str:
        return f"to {(await self.caller.ask('which city?')).text}"


@workflow.defn
class Whole:
    @workflow.run
    async def run(self, request: A2ARequest) -> dict[str, Any]:
        return {"text": request.text, "data": request.data, "owner": request.owner}


@workflow.defn
class Files:
    @workflow.run
    async def run(self, request: A2ARequest) -> dict[str, str]:
        return {
            file.filename: file.url or b64decode(file.content).decode() for file in request.files
        }


@workflow.defn
class Typed:
    @workflow.run
    async def run(self, city: str, days: int = 1) -> list[Any]:
        return [city, days]


@activity.defn
async def unsteady() -> None:
    async with emitting() as emit:
        emit(f"attempt {activity.info().attempt}. ")
    if activity.info().attempt < 3:
        raise ConnectionError


@workflow.defn
class Retrying:
    @workflow.init
    def __init__(self, text: str) -> None:
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, text: str) -> None:
        self.caller.emit("Begun. ")
        await workflow.execute_activity(unsteady, start_to_close_timeout=timedelta(seconds=30))


@workflow.defn
class Impatient:
    @workflow.init
    def __init__(self, text: str) -> None:
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, text: str) -> str:
        try:
            return (await self.caller.ask("which city?", timeout=timedelta(seconds=0.1))).text
        except TimeoutError:
            return "too late"


@workflow.defn
class Travelling:
    @workflow.init
    def __init__(self, text: str) -> None:
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, text: str) -> str:
        return (await REMOTE(self.caller, text)).text


WORKFLOWS = [
    Asking, Echo, Endless, Failing, FailingMidway, Files, Impatient, Retrying, Silent, Travelling,
    Typed, Whole,
]  # fmt: skip


@contextmanager
def server():
    """Run a server in memory; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [SERVER, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


async def connected(address, **options):
    """Return a client, once the server listens."""
    while True:
        try:
            return await Client.connect(address, **options)
        except RuntimeError:
            await asyncio.sleep(0.05)


@asynccontextmanager
async def working(client):
    """Run a worker."""
    async with Worker(
        client,
        task_queue=QUEUE,
        workflows=WORKFLOWS,
        activities=[unsteady, REMOTE.activity],
        max_cached_workflows=0,  # the server in memory waits for caches that are gone
    ):
        yield


async def terminated(handle):
    """Terminate a workflow once it has started."""
    while True:
        try:
            return await handle.terminate()
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
            await asyncio.sleep(0.01)


def reply_of(owner, asked, part):
    """Return the request with a user's reply to a task's question."""
    metadata = asked.status.message.metadata
    return AgentRequest(
        parts=(part,),
        message=user_message("reply").message,
        task_id=asked.id,
        context_id=asked.context_id,
        owner=owner,
        resuming=True,
        resume_metadata={name: metadata[name] for name in ("number", "offset")},
    )
