"""Serves a graph of a LangGraph server, with the recorded bytes of `langgraph dev` 0.16.7.

Its graph has one node, which streams what a model says of the last message, interrupts itself for
"ask" and raises for "fail".
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from a2a.types import CancelTaskRequest, ListTasksRequest, TaskState
from a2a_adapters_langchain import adapt
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client, get_sync_client
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from a2a_adapters import TargetError, build_app
from a2a_adapters.testing import answer_of, connect, running, send, stream, user_message

RECORDED = json.loads((Path(__file__).parent / "recorded" / "langgraph_server.json").read_text())
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
COMPLETED, INPUT_REQUIRED = TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_INPUT_REQUIRED


def asked(body):
    """Return the recorded fields of a request's body."""
    recorded = {
        key: value
        for key, value in (json.loads(body) if body else {}).items()
        if key in {"input", "command", "as_node", "on_disconnect", "assistant_id"}
    }
    if "input" in recorded:
        recorded["input"] = {
            "messages": [message["content"] for message in recorded["input"]["messages"]]
        }
    return recorded


class Replay:
    """Replays the server's responses in the recorded order."""

    def __init__(self):
        self.left = deque(RECORDED)

    async def answer(self, request):
        exchange = self.left.popleft()
        here = request.method, UUID.sub("{id}", request.url.path), asked(await request.body())
        assert here == (exchange["method"], exchange["path"], exchange["asked"])
        return Response(exchange["body"], exchange["status"], media_type=exchange["type"])


@asynccontextmanager
async def server(answer):
    route = Route("/{path:path}", answer, methods=["GET", "POST"])
    async with running(Starlette(routes=[route])) as url, get_client(url=url) as client:
        yield RemoteGraph("desk", client=client)


async def test_a_conversation_with_a_remote_graph():
    replay = Replay()
    async with (
        server(replay.answer) as graph,
        running(build_app(graph)) as url,
        connect(url) as client,
    ):
        updates = await stream(client, user_message("hello", context_id="c"))
        words = [u.artifact_update for u in updates if u.HasField("artifact_update")]
        assert len(words) > 3
        said = "".join(part.text for word in words for part in word.artifact.parts)
        assert said == "You said hello, message 1."

        waiting = await send(client, user_message("ask", context_id="c"))
        assert waiting.status.state == INPUT_REQUIRED
        assert waiting.status.message.parts[0].text == "Which floor?"
        done = await send(client, user_message("3", task_id=waiting.id))
        assert (done.status.state, answer_of(done)) == (COMPLETED, "Floor 3.")

        failed = await send(client, user_message("fail", context_id="c"))
        assert failed.status.state == TaskState.TASK_STATE_FAILED
        assert "secret" not in str(failed)
        again = await send(client, user_message("again", context_id="c"))
        assert (again.status.state, answer_of(again)) == (COMPLETED, "You said again, message 6.")
    assert not replay.left


class Fake:
    """Repeats the last message of each thread once all callers have sent one."""

    def __init__(self, callers):
        self.callers = callers
        self.threads = {}
        self.all_there = asyncio.Event()
        self.begun = asyncio.Event()
        self.left = asyncio.Event()

    async def answer(self, request):
        if request.url.path.endswith("/graph"):
            return JSONResponse({"nodes": [], "edges": []})
        if not request.url.path.endswith("/runs/stream"):
            return JSONResponse({"detail": "Thread not found"}, 404)
        body = await request.json()
        assert body["on_disconnect"] == "cancel"
        thread = UUID.search(request.url.path)[0]
        self.threads[thread] = body["input"]["messages"][-1]
        if len(self.threads) == self.callers:
            self.all_there.set()
        return StreamingResponse(self.events(thread), media_type="text/event-stream")

    async def events(self, thread):
        self.begun.set()
        try:
            while not self.all_there.is_set():  # a disconnect is noticed on sending
                yield ": heartbeat\n\n"
                await asyncio.sleep(0.01)
            message = {"type": "ai", "content": self.threads[thread]["content"].upper(), "id": "1"}
            for mode, data in (
                ("values", {"messages": [self.threads[thread]]}),
                ("values", {"messages": [self.threads[thread], message]}),
            ):
                yield f"event: {mode}\ndata: {json.dumps(data)}\n\n"
        finally:
            self.left.set()


async def test_each_caller_has_a_separate_thread():
    fake = Fake(8)
    async with server(fake.answer) as graph, running(build_app(graph)) as url:

        async def ask(number):
            async with connect(url, user=f"user{number}") as client:
                return answer_of(await send(client, user_message(f"w{number}", context_id="c")))

        answers = await asyncio.gather(*map(ask, range(8)))
    assert answers == [f"W{number}" for number in range(8)]


async def test_cancel_disconnects_so_that_the_server_ends_its_run():
    fake = Fake(callers=2)
    async with (
        server(fake.answer) as graph,
        running(build_app(graph)) as url,
        connect(url) as client,
    ):
        answering = asyncio.create_task(send(client, user_message("hello")))
        await fake.begun.wait()
        [task] = (await client.list_tasks(ListTasksRequest())).tasks
        await client.cancel_task(CancelTaskRequest(id=task.id))
        assert (await answering).status.state == TaskState.TASK_STATE_CANCELED
        await fake.left.wait()


def test_requirements_of_remote_graphs():
    with pytest.raises(TargetError, match="needs a client"):
        adapt(RemoteGraph("desk", sync_client=get_sync_client(url="http://127.0.0.1:1")))
    served = adapt(RemoteGraph("desk", url="http://127.0.0.1:1"), stream_nodes=["answer"])
    assert served.describe().name == "desk"
