"""After a kill, the next process resumes tasks or fails them with a reason."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

import httpx
import pytest

from tests.plugins.sql.served_resume import EXTENSION
from tests.support.processes import launched
from tests.support.requests import V1
from tests.support.warm import warm

TERMINAL = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED"}

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]


class Agent:
    """The server of `served_resume`, started and killed by the test."""

    def __init__(self, storage, work):
        self.work = work
        self.command = warm("-m", "tests.plugins.sql.served_resume", storage, str(work))

    def running(self, *arguments):
        return launched([*self.command, *arguments])

    @asynccontextmanager
    async def called(self, *arguments):
        """Run the server; yield its process and a caller."""
        with self.running(*arguments) as (process, url):
            async with Caller(url) as ann:
                yield process, ann

    def go(self):
        (self.work / "go").touch()

    async def noted(self, how, text):
        """Wait for a call in the agent's log."""
        while True:
            log = self.log() if (self.work / "log").exists() else []
            if (how, text) in [(item["how"], item.get("text")) for item in log]:
                return
            await asyncio.sleep(0.05)

    def log(self):
        return [json.loads(line) for line in (self.work / "log").read_text().splitlines()]


@pytest.fixture
def agent(database_url, tmp_path):
    return Agent(database_url, tmp_path)


class Caller:
    """Calls an agent as a user."""

    def __init__(self, url, name="ann"):
        headers = {**V1, "Authorization": f"Bearer {name}", "A2A-Extensions": EXTENSION}
        self.http = httpx.AsyncClient(base_url=url, timeout=60, headers=headers)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.http.aclose()

    async def call(self, method, params):
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return (await self.http.post("/", json=call)).json()

    async def send(self, text, *, wait=False, task="", context="c", message=""):
        message = {
            "messageId": message or uuid4().hex,
            "role": "ROLE_USER",
            "parts": [{"text": text}],
            "contextId": context,
            "metadata": {"inside": 1},
            **({"taskId": task} if task else {}),
        }
        configuration = {"returnImmediately": not wait, "acceptedOutputModes": ["text/plain"]}
        sent = {"message": message, "metadata": {"beside": 2.5}, "configuration": configuration}
        answer = await self.call("SendMessage", sent)
        return answer.get("result", {}).get("task", answer)

    async def get(self, task_id):
        return (await self.call("GetTask", {"id": task_id}))["result"]

    async def until(self, task_id, is_so):
        while True:
            if is_so(task := await self.get(task_id)):
                return task
            await asyncio.sleep(0.05)

    async def ended(self, task_id):
        return await self.until(task_id, lambda task: task["status"]["state"] in TERMINAL)

    async def said(self, task_id):
        """Wait until the first word is stored."""
        await self.until(task_id, lambda task: "one " in texts(task))
        await self.call("ListTasks", {})


def texts(task):
    return ["".join(part["text"] for part in a["parts"]) for a in task.get("artifacts", [])]


def reason(task):
    return task["status"]["message"]["parts"][0]["text"]


async def test_tasks_are_resumed_in_order(agent):
    first_id = uuid4().hex
    with agent.running() as (process, url):
        async with Caller(url) as ann, Caller(url, "bob") as bob:
            first = await ann.send("first", message=first_id)
            second = await ann.send("second")
            others = await bob.send("other")
            await ann.said(first["id"])
            await bob.said(others["id"])
            before = (await ann.get(first["id"]))["artifacts"][0]["artifactId"]
            process.kill()
    with agent.running() as (_, url):
        async with Caller(url) as ann, Caller(url, "bob") as bob:
            again = asyncio.ensure_future(ann.send("first", message=first_id))
            await agent.noted("resume", "first")
            working = await ann.get(first["id"])
            assert working["status"]["state"] not in TERMINAL
            third = asyncio.ensure_future(ann.send("third", wait=True))
            await ann.said(first["id"])
            agent.go()
            done = [await ann.ended(first["id"]), await ann.ended(second["id"]), await third]
            done.append(await bob.ended(others["id"]))
            assert (await again)["id"] == first["id"]
    assert [texts(task) for task in done] == [["one two"]] * 4
    assert done[0]["artifacts"][0]["artifactId"] == before
    log = agent.log()
    of_ann = [(item["how"], item["text"]) for item in log if item["owner"] == "ann"]
    assert of_ann == [
        ("stream", "first"),
        ("resume", "first"),
        ("resume", "second"),
        ("stream", "third"),
    ]
    begun, resumed = (
        next(item for item in log if (item["how"], item["text"]) == (how, "first"))
        for how in ("stream", "resume")
    )
    assert begun["metadata"] == {"inside": 1, "beside": 2.5}
    assert begun["extensions"] == [EXTENSION]
    assert resumed == {**begun, "how": "resume", "said": "one "}


async def test_the_answer_to_a_question_is_resumed(agent):
    async with agent.called() as (process, ann):
        asked = await ann.send("ask", wait=True)
        await ann.send("this", task=asked["id"])
        await ann.said(asked["id"])
        process.kill()
    async with agent.called() as (_, ann):
        agent.go()
        done = await ann.ended(asked["id"])
    assert texts(done) == ["before", "well: ", "one two"]
    *_, begun, resumed = agent.log()
    assert resumed == {**begun, "how": "resume", "said": "one "}
    assert resumed["resuming"]
    assert resumed["asked"] == {"n": 3}
    assert resumed["earlier"] == [["ask", {"inside": 1, "beside": 2.5}, "which?"]]


async def test_resumed_tasks_can_be_cancelled_and_followed(agent):
    async with agent.called() as (process, ann):
        task = await ann.send("go")
        await ann.said(task["id"])
        process.kill()
    async with agent.called() as (_, ann):
        await agent.noted("resume", "go")
        call = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask"}
        async with ann.http.stream(
            "POST", "/", json={**call, "params": {"id": task["id"]}}
        ) as stream:
            lines = stream.aiter_lines()
            first = json.loads((await anext(lines)).removeprefix("data: "))
            assert first["result"]["task"]["id"] == task["id"]
            cancelled = await ann.call("CancelTask", {"id": task["id"]})
            assert cancelled["result"]["status"]["state"] == "TASK_STATE_CANCELED"
            rest = [line async for line in lines]
        assert "TASK_STATE_CANCELED" in rest[-2]


async def test_tasks_that_cannot_be_resumed_fail_with_a_reason(agent):
    async with agent.called() as (process, ann):
        lost = await ann.send("lost")
        await ann.said(lost["id"])
        process.kill()
    async with agent.called() as (_, ann):
        ended = await ann.ended(lost["id"])
    assert ended["status"]["state"] == "TASK_STATE_FAILED"
    assert "There is nothing left of it." in reason(ended)
    assert texts(ended) == ["one "]


async def test_a_task_that_kills_its_processes_is_given_up(tmp_path):
    agent = Agent(f"sqlite:///{tmp_path}/agents.db", tmp_path)
    with agent.running() as (process, url):
        async with Caller(url) as ann:
            with pytest.raises(httpx.HTTPError):
                await ann.send("end the process", wait=True, message="the-message")
        process.wait()
    for _ in range(3):
        with suppress(AssertionError), agent.running() as (process, _):  # it may die earlier
            process.wait()
    async with agent.called() as (_, ann):
        ended = await ann.send("end the process", wait=True, message="the-message")
    assert ended["status"]["state"] == "TASK_STATE_FAILED"
    assert "each time" in reason(ended)


async def test_questions_are_answered_after_a_restart_or_end_at_once(agent):
    async with agent.called() as (process, ann):
        durable = await ann.send("ask", wait=True, context="1")
        parked = await ann.send("ask in memory", wait=True, context="2")
        process.kill()
    agent.go()
    async with agent.called() as (_, ann):
        assert "no longer waits for an answer" in reason(await ann.ended(parked["id"]))
        done = await ann.send("that", task=durable["id"], wait=True, context="1")
    assert texts(done) == ["before", "well: ", "one two"]


async def test_a_question_expires_also_at_another_process(agent):
    async with agent.called() as (process, ann):
        asked = await ann.send("ask", wait=True)
        process.kill()
    async with agent.called("0.01") as (_, ann):
        await agent.noted("abandon", None)
        assert "no answer came in time" in reason(await ann.ended(asked["id"]))
    assert agent.log()[-1] == {"how": "abandon", "task": asked["id"]}


async def test_an_undelivered_reply_leaves_nothing_behind(agent):
    async with agent.called("reply") as (process, ann):
        sending = asyncio.ensure_future(ann.send("hi", wait=True, message="the-message"))
        await agent.noted("stream", "hi")
        process.kill()
        with pytest.raises(httpx.HTTPError):
            await sending
    agent.go()
    async with agent.called("reply") as (_, ann):
        refused = await ann.send("hi", wait=True, message="the-message")
        assert "new messageId" in refused["error"]["message"]
        assert not (await ann.call("ListTasks", {}))["result"].get("tasks")
        answer = await ann.send("hi again", wait=True)
        assert answer["result"]["message"]["parts"] == [{"text": "one two"}]
    assert [item["text"] for item in agent.log()] == ["hi", "hi again"]
