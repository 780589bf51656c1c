"""Stored and queued data is bounded by bytes as well as by number."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import httpx
import pytest

from a2a_adapters import (
    BearerTokens,
    InputRequired,
    Limits,
    PushOptions,
    Reply,
    ServerOptions,
    Text,
    build_app,
)
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.runtime import MemoryTaskStore
from a2a_adapters.testing import running
from tests.support.requests import V1, call, old_call, rpc, say, serving
from tests.support.warm import warm

KIB = 1024
TOKENS = BearerTokens({"ann": "ann", "bob": "bob"})
ANN, BOB = ({"Authorization": f"Bearer {user}", **V1} for user in ("ann", "bob"))


async def echo(text):
    return "done"


async def ask(text):
    yield InputRequired("what?", durable=True)


def limited(**limits):
    return ServerOptions(limits=Limits(**limits))


async def ids(http, headers=V1):
    answer = await call(http, "ListTasks", {"pageSize": 100}, headers)
    return [task["id"] for task in answer["result"]["tasks"]]


async def test_finished_tasks_are_forgotten_by_their_size():
    async with serving(echo, options=limited(finished_bytes=100 * KIB)) as http:
        for _ in range(10):
            await call(http, "SendMessage", say("x" * 30 * KIB))
        assert len(await ids(http)) == 3
        for _ in range(10):
            await call(http, "SendMessage", say("x"))
        assert len(await ids(http)) == 12, "small ones take little"


async def test_one_owner_takes_half_of_it_at_most():
    options = ServerOptions(limits=Limits(finished_bytes=200 * KIB), authentication=TOKENS)
    async with serving(echo, options=options) as http:
        await call(http, "SendMessage", say("x" * 30 * KIB), BOB)
        for _ in range(10):
            await call(http, "SendMessage", say("x" * 30 * KIB), ANN)
        assert len(await ids(http, ANN)) == 3
        assert len(await ids(http, BOB)) == 1, "others keep theirs"


async def test_values_count_with_their_memory():
    async with serving(echo, options=limited(finished_bytes=100 * KIB)) as http:
        for _ in range(10):
            await call(http, "SendMessage", say("x", metadata={"a": [[]] * 500}))
        assert 0 < len(await ids(http)) < 4


async def test_a_server_that_is_full_of_running_messages_is_busy():
    gate = asyncio.Event()

    async def slow(text):
        await gate.wait()
        return "done"

    options = ServerOptions(limits=Limits(running_bytes=200 * KIB), authentication=TOKENS)
    async with serving(slow, options=options) as http:

        async def begin(headers, size=30 * KIB):
            message = {**say("x" * size), "configuration": {"returnImmediately": True}}
            return await http.post("/", json=rpc("SendMessage", message), headers=headers)

        answers = [await begin(ANN) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200] * 3 + [503] * 2
        assert answers[-1].json()["error"]["data"][0]["reason"] == "SERVER_BUSY"
        assert [(await begin(BOB)).status_code for _ in range(4)] == [200] * 3 + [503]
        assert len(await ids(http, ANN)) == 3, "a refusal leaves no task"
        gate.set()
        async with asyncio.timeout(60):
            while (await begin(ANN)).status_code == 503:
                pass


async def test_answers_that_are_being_written_count_as_running():
    gate = asyncio.Event()

    async def talk(text):
        if text == "short":
            yield "short"
            return
        for _ in range(20):
            yield "x" * 10 * KIB
        await gate.wait()

    options = ServerOptions(limits=Limits(running_bytes=1000 * KIB), authentication=TOKENS)
    async with serving(talk, options=options) as http:

        async def begin(headers):
            message = {**say("long"), "configuration": {"returnImmediately": True}}
            return (await call(http, "SendMessage", message, headers))["result"]["task"]["id"]

        async def task(task_id, headers):
            return (await call(http, "GetTask", {"id": task_id}, headers))["result"]

        async def written(task_id, headers):
            async with asyncio.timeout(60):
                while True:
                    found = await task(task_id, headers)
                    text = "".join(
                        part["text"]
                        for artifact in found.get("artifacts", [])
                        for part in artifact["parts"]
                    )
                    has_ended = found["status"]["state"] == "TASK_STATE_FAILED"
                    if has_ended or len(text) == 200 * KIB:
                        return found["status"]["state"], found["status"].get("message")

        assert (await written(await begin(ANN), ANN))[0] == "TASK_STATE_WORKING"
        state, message = await written(await begin(ANN), ANN)
        assert state == "TASK_STATE_FAILED"
        assert "files, of which an answer holds the URL" in message["parts"][0]["text"]
        assert (await written(await begin(BOB), BOB))[0] == "TASK_STATE_WORKING"
        short = await call(http, "SendMessage", say("short"), ANN)
        assert short["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
        gate.set()
        async with asyncio.timeout(60):
            while (await written(await begin(ANN), ANN))[0] == "TASK_STATE_FAILED":
                pass


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory from /proc")
@pytest.mark.parametrize(
    ("method", "most"),
    # A message's whole answer is also encoded in one piece, which `answers_bytes` limits.
    [("SendStreamingMessage", 2.0), ("SendMessage", 3.0)],
)
def test_a_large_answer_takes_little_more_memory_than_its_limit(method, most):
    # In a process of its own: the memory of this one depends on the tests before.
    command = warm("-m", "tests.security.large_answer", method)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    grown, is_named = json.loads(done.stdout)
    assert is_named is (method == "SendStreamingMessage")
    assert grown < most


async def test_waiting_tasks_are_ended_when_memory_is_full():
    async with serving(ask, options=limited(running_bytes=100 * KIB)) as http:

        async def states():
            answer = await call(http, "ListTasks", {"pageSize": 100})
            return [task["status"]["state"] for task in answer["result"]["tasks"]]

        begun = 0
        async with asyncio.timeout(60):
            while begun < 10:
                message = rpc("SendMessage", say("x" * 30 * KIB))
                answer = await http.post("/", json=message, headers=V1)
                begun += answer.status_code == 200
            while (await states()).count("TASK_STATE_INPUT_REQUIRED") > 3:
                pass
        assert "TASK_STATE_FAILED" in await states()


async def test_a_run_waits_for_readers_that_have_much_to_read():
    async def many(text):
        for number in range(200):
            yield f"{number:1000}"

    async with serving(many, options=limited(subscriber_bytes=2000)) as http:
        response = await http.post("/message:stream", json=say("x"), headers=V1)
    assert all(f"{number:1000}" in response.text for number in range(200))
    assert "TASK_STATE_COMPLETED" in response.text


async def test_readers_together_are_bounded():
    async def many(text):
        for number in range(60):
            yield f"{number:10000}"

    async with serving(many, options=limited(subscribers_bytes=10_000)) as http:
        response = await http.post("/message:stream", json=say("x"), headers=V1)
    assert "READER_BEHIND" in response.text
    assert "TASK_STATE_COMPLETED" not in response.text


async def test_large_updates_alone_do_not_close_a_reader():
    async def large(text):
        yield "x" * 300_000

    async with serving(large, options=limited(subscriber_bytes=2000)) as http:
        response = await http.post("/message:stream", json=say("x"), headers=V1)
    assert "TASK_STATE_COMPLETED" in response.text


async def test_pages_are_cut_by_their_size(monkeypatch):
    monkeypatch.setattr("a2a_adapters.storage.memory._PAGE_BYTES", 100_000)
    async with serving(echo) as http:
        for _ in range(7):
            await call(http, "SendMessage", say("x" * 30_000))
        found, token = [], ""
        while True:
            page = await call(http, "ListTasks", {"pageSize": 5, "pageToken": token})
            tasks, token = page["result"]["tasks"], page["result"]["nextPageToken"]
            assert 0 < len(tasks) <= 3
            found += [task["id"] for task in tasks]
            if not token:
                break
    assert len(found) == len(set(found)) == 7


async def test_conversations_are_forgotten_by_their_size():
    seen = []

    class Agent(Adapter):
        uses_history = True
        may_reply = True

        def describe(self):
            return AgentDescription(name="a", description="A.")

        async def stream(self, request):
            seen.append(sum(len(turn.text) for turn in request.history))
            yield Reply((Text("ok"),))

    async with serving(Agent(), options=limited(history_bytes=100 * KIB)) as http:
        for _ in range(8):
            await call(http, "SendMessage", say("x" * 30 * KIB, contextId="one"))
        assert max(seen) <= 100 * KIB
        assert seen[-1] > 60 * KIB
        for number in range(8):
            await call(http, "SendMessage", say("x" * 30 * KIB, contextId=f"c{number}"))
        seen.clear()
        for number in range(8):
            await call(http, "SendMessage", say("x", contextId=f"c{number}"))
    assert seen.count(0) >= 5


@pytest.mark.parametrize("field", ["tenant", "id", "token"])
async def test_push_configs_are_bounded(field):
    async with serving(ask, options=ServerOptions(push=PushOptions())) as http:
        task = (await call(http, "SendMessage", say("x")))["result"]["task"]
        config = {"taskId": task["id"], "url": "https://example.org/", field: "x" * 3000}
        answer = await call(http, "CreateTaskPushNotificationConfig", config)
    assert answer["error"]["code"] == -32602


async def test_all_push_configs_together_are_bounded(monkeypatch):
    monkeypatch.setattr("a2a_adapters.storage.memory._PUSH_CONFIG_BYTES", 5000)
    async with serving(ask, options=ServerOptions(push=PushOptions())) as http:
        tasks = []
        for _ in range(5):
            task = (await call(http, "SendMessage", say("x")))["result"]["task"]["id"]
            tasks.append(task)
            config = {"taskId": task, "url": "https://93.184.216.34/", "token": "x" * 2000}
            await call(http, "CreateTaskPushNotificationConfig", config)
        kept = [
            len((await call(http, "ListTaskPushNotificationConfigs", {"taskId": task}))["result"]
                .get("configs", []))
            for task in tasks
        ]  # fmt: skip
    assert kept == [0, 0, 0, 1, 1]


async def test_bodies_that_come_in_together_are_bounded():
    app = build_app(echo, options=limited(bodies_bytes=200 * KIB))
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        content = json.dumps(rpc("SendMessage", say("x" * 150 * KIB))).encode()
        gate, held = asyncio.Event(), asyncio.Event()

        async def slowly():
            yield content[:-1]
            held.set()
            await gate.wait()
            yield content[-1:]

        first = asyncio.create_task(http.post("/", content=slowly(), headers=V1))
        await held.wait()
        async with asyncio.timeout(60):
            while (second := await http.post("/", content=content, headers=V1)).is_success:
                pass  # the first one may still be in transit
        assert second.status_code == 503
        assert second.headers["retry-after"] == "1"
        assert "result" in await call(http, "SendMessage", say("small ones pass"))
        gate.set()
        assert (await first).json()["result"]
        assert (await http.post("/", content=content, headers=V1)).is_success


async def test_a_body_that_takes_too_long_is_refused():
    app = build_app(echo, options=limited(body_seconds=2))
    async with running(app) as url:
        host, port = httpx.URL(url).host, httpx.URL(url).port
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        async with asyncio.timeout(60):
            assert (await reader.readline()).startswith(b"HTTP/1.1 408")
        writer.close()


async def test_answers_that_are_not_read_are_bounded():
    options = limited(answers_bytes=500_000)
    async with serving(echo, options=options) as http:
        tasks = [
            (await call(http, "SendMessage", say("x" * 300_000)))["result"]["task"]["id"]
            for _ in range(2)
        ]
        async with asyncio.timeout(60):
            await asyncio.gather(*[call(http, "GetTask", {"id": tasks[0]}) for _ in range(20)])
        assert (await call(http, "GetTask", {"id": tasks[1]}))["result"]["id"] == tasks[1]
        old = await old_call(http, "tasks/get", {"id": tasks[1]})
    assert old["result"]["id"] == tasks[1]


async def test_unread_lists_cost_nothing_more(monkeypatch):
    """A list is built only if its caller has capacity for it."""
    made = []
    page = MemoryTaskStore.list

    async def counted(self, params, context):
        made.append(params)
        return await page(self, params, context)

    monkeypatch.setattr(MemoryTaskStore, "list", counted)
    async with serving(echo, options=limited(answers_bytes=9 * 1024 * KIB)) as http:
        for _ in range(4):
            await call(http, "SendMessage", say("x" * 3 * 1024 * KIB))
        body = json.dumps(rpc("ListTasks", {"pageSize": 100}))
        head = "POST / HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n"
        host, port = http.base_url.host, http.base_url.port
        reader, writer = await asyncio.open_connection(host, port, limit=1024)
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        before = len(made)
        for answer in (
            await http.post("/", content=body, headers=V1),
            await http.get("/tasks", headers=V1),
        ):
            assert answer.status_code == 503
        assert len(made) == before
        writer.close()
        async with asyncio.timeout(60):
            while (await http.get("/tasks", headers=V1)).status_code == 503:
                pass
