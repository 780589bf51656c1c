"""MCP tasks, which outlive their connections (extension of the protocol of 2026-07-28)."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from datetime import datetime

import pytest
from a2a_adapters_mcp import McpTools

from a2a_adapters import (
    AgentRequest,
    BearerTokens,
    InputRequired,
    Limits,
    Progress,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import running
from tests.plugins.mcp import agents
from tests.plugins.mcp.stateless_client import FORMS, TASKS, accepted, said, stateless

pytestmark = pytest.mark.timeout(5 * 60)

AT_ONCE = McpTools(task_after_seconds=0)
TOKENS = BearerTokens({"of-ann": "ann", "of-bob": "bob"})


class Long:
    """An agent that completes its work on a signal of the test."""

    def __init__(self):
        self.goes_on = asyncio.Event()
        self.ended = asyncio.Event()

    async def work(self, request: AgentRequest):
        """Works for long."""
        yield Progress("looking")
        try:
            await self.goes_on.wait()
        finally:
            self.ended.set()
        yield f"found {request.text}"

    async def ask(self, request: AgentRequest):
        """Works, and asks."""
        await self.goes_on.wait()
        city = yield InputRequired("which city?")
        yield f"{request.text}: {city.text}"


@pytest.fixture
def long():
    return Long()


@asynccontextmanager
async def offered(target, options=None, dialect=AT_ONCE):
    async with running(build_app(target, dialects=[dialect], options=options)) as url:
        yield url


async def test_long_work_is_a_task_that_outlives_its_connection(long):
    async with offered({"work": long.work, "other": agents.shout}) as url:
        async with stateless(url, TASKS) as client:
            begun = await client.call("work", "gold")
        assert (begun["resultType"], begun["status"]) == ("task", "working")
        async with stateless(url, TASKS) as client:
            working = await client.ask("tasks/get", taskId=begun["taskId"])
            assert (working["resultType"], working["status"]) == ("complete", "working")
            assert working["ttlMs"] >= 3_600_000
            assert datetime.fromisoformat(working["createdAt"]).tzinfo
            long.goes_on.set()
            done = await client.ended(begun["taskId"])
    assert (done["status"], said(done["result"])) == ("completed", "found gold")


async def test_short_work_is_not_a_task():
    async with offered(agents.ALL, dialect="mcp") as url, stateless(url, TASKS) as client:
        assert said(await client.call("shout", "hello")) == "HELLO"
        failed = await client.call("fail")
        assert (failed["resultType"], failed["isError"]) == ("complete", True)


async def test_a_task_survives_a_restart(long, tmp_path):
    options = ServerOptions(storage=f"sqlite:///{tmp_path}/tasks.db", authentication=TOKENS)
    mine = {"Authorization": "Bearer of-ann"}
    async with offered(long.work, options) as url, stateless(url, TASKS, mine) as client:
        begun = await client.call("work", "gold")
        long.goes_on.set()
        await client.ended(begun["taskId"])
    async with offered(long.work, options) as url, stateless(url, TASKS, mine) as client:
        done = await client.ask("tasks/get", taskId=begun["taskId"])
    assert said(done["result"]) == "found gold"


async def test_a_question_of_a_task_is_answered_by_an_update(long):
    async with offered(long.ask) as url, stateless(url, TASKS | FORMS) as client:
        task_id = (await client.call("ask", "a room"))["taskId"]
        long.goes_on.set()
        asked = await client.ended(task_id)
        assert asked["status"] == "input_required"
        [request] = asked["inputRequests"].values()
        assert request["params"]["message"] == "which city?"
        for wrong in ({}, {"other": {"action": "accept"}}, None, {**accepted(asked), "x": 1}):
            assert await update(client, task_id, wrong) == {"resultType": "complete"}
        answer = accepted(asked, answer="Rome")
        both = await asyncio.gather(*(update(client, task_id, answer) for _ in range(2)))
        assert both == [{"resultType": "complete"}] * 2
        done = await client.ended(task_id)
    assert said(done["result"]) == "a room: Rome"


async def update(client, task_id, answer):
    result = await client.ask("tasks/update", taskId=task_id, inputResponses=answer)
    result.pop("_meta")
    return result


async def test_a_declined_question_cancels_the_task(long):
    async with offered(long.ask) as url, stateless(url, TASKS | FORMS) as client:
        task_id = (await client.call("ask"))["taskId"]
        long.goes_on.set()
        [key] = (await client.ended(task_id))["inputRequests"]
        await update(client, task_id, {key: {"action": "cancel"}})
        assert (await client.ended(task_id))["status"] == "cancelled"


async def test_a_client_without_elicitation_gets_the_question_as_result(long):
    async with offered(long.ask) as url, stateless(url, TASKS) as client:
        task_id = (await client.call("ask"))["taskId"]
        long.goes_on.set()
        asked = await client.ended(task_id)
    assert asked["status"] == "completed"
    assert "which city?" in str(asked["result"]["content"])


async def test_a_task_is_cancelled(long):
    async with offered(long.work) as url, stateless(url, TASKS) as client:
        task_id = (await client.call("work"))["taskId"]
        await client.ask("tasks/cancel", taskId=task_id)
        await long.ended.wait()
        assert (await client.ended(task_id))["status"] == "cancelled"
        again = await client.ask("tasks/cancel", taskId=task_id)
        assert again["resultType"] == "complete"


async def test_a_temporarily_refused_answer_explains_why(long):
    async def ask_or_work(request: AgentRequest):
        run = long.ask if request.text == "a room" else long.work
        news, answer = run(request), None
        with suppress(StopAsyncIteration):
            while True:
                answer = yield await news.asend(answer)

    options = ServerOptions(limits=Limits(runs=1, queued_runs=0))
    async with offered(ask_or_work, options) as url, stateless(url, TASKS | FORMS) as client:
        asking = (await client.call("ask_or_work", "a room"))["taskId"]
        long.goes_on.set()
        answer = accepted(await client.ended(asking), answer="Rome")
        long.goes_on.clear()
        await client.call("ask_or_work", "gold")
        refused = await client.ask("tasks/update", taskId=asking, inputResponses=answer)
    assert "busy" in refused["message"]


async def test_an_agents_failure_is_the_tasks_result():
    async with offered(agents.ALL) as url, stateless(url, TASKS) as client:
        begun = await client.call("fail")
        failed = await client.ended(begun["taskId"]) if "taskId" in begun else {"result": begun}
    assert failed["result"]["isError"]
    assert "hunter2" not in str(failed)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
async def test_tasks_are_visible_to_their_caller_only(long, method):
    options = ServerOptions(authentication=TOKENS)
    async with offered(long.work, options) as url, stateless(url, TASKS) as client:
        mine, theirs = ({"Authorization": f"Bearer of-{name}"} for name in ("ann", "bob"))
        task_id = (await client.call("work", headers=mine))["taskId"]
        for wrong in (task_id.replace("work/", "x/"), "work/unknown/1", "unknown", "work/x/zz"):
            assert (await client.ask(method, taskId=wrong, headers=mine))["code"] == -32602
        assert (await client.ask(method, taskId=task_id, headers=theirs))["code"] == -32602
        working = await client.ask("tasks/get", taskId=task_id, headers=mine)
        assert working["status"] == "working"
        client.can = {}
        refused = await client.post(method, taskId=task_id, headers=mine)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32021)


async def test_a_client_without_task_support_waits_for_the_result(long):
    async with offered(long.work) as url, stateless(url) as client:
        waiting = asyncio.create_task(client.call("work", "gold"))
        long.goes_on.set()
        assert said(await waiting) == "found gold"
        assert client.progress == ["looking"]
