"""Real servers that are stopped or killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import time

import httpx
import pytest
from a2a.types import TaskState

from tests.support.processes import launched
from tests.support.requests import V1, rpc, say
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(5 * 60)

APP = '''
"""A server with a grace time of a second, and a store in a folder."""
import asyncio
from pathlib import Path

from a2a.server.tasks import InMemoryTaskStore
from a2a.types import Task

from a2a_adapters import Limits, ServerOptions, serve


class FolderStore(InMemoryTaskStore):
    """Keeps the tasks of anonymous callers in files."""

    async def save(self, task, context):
        Path(task.id).write_bytes(task.SerializeToString())

    async def get(self, task_id, context):
        path = Path(task_id)
        return Task.FromString(path.read_bytes()) if path.exists() else None


async def steady(text: str):
    yield "begun"
    await asyncio.sleep(float(text))


async def immortal(text: str):
    yield "begun"
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass


async def flood(text: str):
    for _ in range(int(text)):
        yield "word " * 50
        await asyncio.sleep(0)


agents = {"steady": steady, "immortal": immortal, "flood": flood}
limits = Limits(shutdown_seconds=1)
if __name__ == "__main__":
    serve(agents, port=0, options=ServerOptions(limits=limits, task_store=FolderStore()))
'''


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Run the server; yield its process and its address."""
    (tmp_path / "app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    with launched(warm("app.py")) as (process, url):
        yield process, url.removesuffix("/agents/steady")


def call(seconds, method="SendStreamingMessage"):
    return rpc(method, say(seconds))


class Reader:
    """Reads one stream to its end."""

    def __init__(self, http, path, seconds):
        self.begun = asyncio.Event()
        self.events = []
        self._done = asyncio.create_task(self._read(http, path, seconds))

    async def _read(self, http, path, seconds):
        async with http.stream("POST", path, json=call(seconds)) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    self.events.append(json.loads(line[6:])["result"])
                    if "artifactUpdate" in self.events[-1]:
                        self.begun.set()

    async def last_status(self):
        await self._done
        return self.events[-1]["statusUpdate"]["status"]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
async def test_running_tasks_get_their_time_and_then_a_reason(server, sent):
    process, url = server
    async with httpx.AsyncClient(base_url=url, headers=V1, timeout=60) as http:
        short = Reader(http, "/agents/steady/", "0.5")
        long = Reader(http, "/agents/steady/", "600")
        stuck = Reader(http, "/agents/immortal/", "x")
        for reader in (short, long, stuck):
            await reader.begun.wait()
        assert (await http.get("/healthz")).status_code == 200
        signalled = time.monotonic()
        process.send_signal(sent)

        # During the grace period, the server refuses probes and new messages.
        async with asyncio.timeout(60):
            while (health := await http.get("/healthz")).status_code == 200:
                pass
        assert (health.status_code, health.json()) == (503, {"status": "draining"})
        refused = (await http.post("/agents/steady/", json=call("0", "SendMessage"))).json()
        assert refused["error"]["code"] == -32000

        assert (await short.last_status())["state"] == "TASK_STATE_COMPLETED"
        for reader in (long, stuck):
            status = await reader.last_status()
            assert status["state"] == "TASK_STATE_FAILED"
            assert status["message"]["parts"] == [{"text": "The server was stopped."}]
    errors = await asyncio.to_thread(process.ended)
    assert time.monotonic() - signalled < 60
    # uvicorn then ends itself with SIGTERM, as the sender expects.
    assert process.returncode == (0 if sent == signal.SIGINT else -sent)
    assert "running tasks get 1 s to finish" in errors
    assert "did not end; abandoned" in errors
    assert "Traceback" not in errors.partition("Finished server process")[0]


async def test_a_second_interrupt_ends_running_tasks_at_once(tmp_path, monkeypatch):
    (tmp_path / "app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    environment = {**os.environ, "A2A_ADAPTERS_LIMITS_SHUTDOWN_SECONDS": "600"}
    command = warm("-m", "a2a_adapters", "serve", "app.py:steady", "--port", "0")
    with launched(command, environment) as (process, url):
        async with httpx.AsyncClient(base_url=url, headers=V1, timeout=60) as http:
            reader = Reader(http, "/", "600")
            await reader.begun.wait()
            process.send_signal(signal.SIGINT)
            await asyncio.to_thread(process.said, "running tasks get 600 s to finish")
            process.send_signal(signal.SIGINT)
            status = await reader.last_status()
            assert status["message"]["parts"] == [{"text": "The server was stopped."}]
        await asyncio.to_thread(process.ended)
    assert process.returncode == 0


HANGING = '''
"""A server of which one part never ends."""
import asyncio
import sys
import threading
from contextlib import asynccontextmanager

from a2a.server.tasks import InMemoryTaskStore
from a2a.types import TaskState

from a2a_adapters import Limits, ServerOptions, TextDelta, serve
from a2a_adapters.plugin import Adapter, AgentDescription

HANGS = sys.argv[1]


async def never():
    if HANGS == "thread":
        await asyncio.to_thread(threading.Event().wait)
    await asyncio.Event().wait()


async def deaf():
    while True:
        try:
            await never()
        except asyncio.CancelledError:
            pass


class Store(InMemoryTaskStore):
    async def save(self, task, context):
        if HANGS in ("store", "thread") or (
            HANGS == "last write" and task.status.state == TaskState.TASK_STATE_FAILED
        ):
            print("saving", file=sys.stderr, flush=True)
            await never()
        await super().save(task, context)


class Agent(Adapter):
    def describe(self):
        return AgentDescription(name="hanging", description="Never ends.")

    async def stream(self, request):
        print("running", file=sys.stderr, flush=True)
        try:
            yield TextDelta("begun")
            await asyncio.Event().wait()
        finally:
            if HANGS == "clean-up":
                await deaf()

    async def aclose(self):
        if HANGS == "aclose":
            await never()
        if HANGS == "deaf aclose":
            await deaf()


@asynccontextmanager
async def target():
    try:
        yield Agent()
    finally:
        if HANGS == "target":
            await never()


limits = Limits(shutdown_seconds=0.5)
serve(target, port=0, options=ServerOptions(limits=limits, task_store=Store()))
'''


@pytest.mark.parametrize(
    "hangs",
    ["store", "thread", "last write", "clean-up", "aclose", "deaf aclose", "target", "nothing"],
)
async def test_whatever_hangs_the_server_ends(tmp_path, monkeypatch, hangs):
    (tmp_path / "app.py").write_text(HANGING)
    monkeypatch.chdir(tmp_path)
    with launched(warm("app.py", hangs)) as (process, url):
        async with httpx.AsyncClient(base_url=url, headers=V1, timeout=60) as http:
            reading = asyncio.ensure_future(http.post("/", json=call("x")))
            # The agent itself waits for the store.
            begun = "^saving$" if hangs in {"store", "thread"} else "^running$"
            await asyncio.to_thread(process.said, begun)
            process.send_signal(signal.SIGTERM)
            errors = await asyncio.to_thread(process.ended)
            reading.cancel()
            await asyncio.wait({reading})
    assert process.returncode == -signal.SIGTERM
    assert ("abandoned" in errors) == (hangs != "nothing"), errors


async def test_an_idle_connection_is_kept_for_the_proxy_that_holds_it(server):
    _, url = server
    limits = httpx.Limits(max_connections=1, keepalive_expiry=None)
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60) as http:
        ends = []
        for idle in (7, 0):  # uvicorn's own limit is 5
            stream = (await http.get("/healthz")).extensions["network_stream"]
            ends.append(stream.get_extra_info("client_addr"))
            await asyncio.sleep(idle)
    assert ends[0] == ends[1]


async def test_a_reader_that_has_stopped_does_not_keep_the_server(server):
    process, url = server
    port = int(url.rpartition(":")[2])
    body = json.dumps(call("20000"))
    with socket.socket() as stopped:
        stopped.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stopped.connect(("127.0.0.1", port))
        head = "POST /agents/flood/ HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n"
        stopped.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        assert stopped.recv(100)
        signalled = time.monotonic()
        process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(process.ended)
    assert time.monotonic() - signalled < 60


async def test_tasks_of_a_killed_server_have_failed_when_it_is_back(server):
    process, url = server
    async with httpx.AsyncClient(base_url=url, headers=V1, timeout=60) as http:
        reader = Reader(http, "/agents/steady/", "600")
        await reader.begun.wait()
        task_id = reader.events[0]["task"]["id"]
        process.kill()
        process.ended()
        with pytest.raises(httpx.TransportError):
            await reader.last_status()
    with launched(warm("app.py")) as (_, url):
        async with httpx.AsyncClient(headers=V1, timeout=60) as http:
            got = await http.post(f"{url}/", json=rpc("GetTask", {"id": task_id}))
            task = got.json()["result"]
    assert TaskState.Value(task["status"]["state"]) == TaskState.TASK_STATE_FAILED
    assert "The server was stopped" in task["status"]["message"]["parts"][0]["text"]
