"""The effect of every limit, and the caller's error."""

from __future__ import annotations

import asyncio
import base64
import threading

import httpx
import pytest
from a2a.types import CancelTaskRequest, GetTaskRequest, Task, TaskState

from a2a_adapters import AgentRequest, InputRequired, Limits, ServerOptions, build_app
from a2a_adapters.testing import answer_of, connect, running, send, stream, user_message
from tests.support.requests import MESSAGE, V1, rpc, say

SUBMITTED, WORKING = TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING
COMPLETED, FAILED = TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED


class Gated:
    """An agent that waits for its gate, and counts concurrent runs."""

    def __init__(self):
        self.gate = asyncio.Event()
        self.now = self.most = 0

    async def answer(self, text: str) -> str:
        self.now += 1
        self.most = max(self.most, self.now)
        await self.gate.wait()
        self.now -= 1
        return text


def limited(target, **limits):
    return running(build_app(target, options=ServerOptions(limits=Limits(**limits))))


async def begin(client, text="go", **ids) -> Task:
    request = user_message(text, **ids)
    request.configuration.return_immediately = True
    return await anext(client.send_message(request))


async def state_of(client, task_id):
    return (await client.get_task(GetTaskRequest(id=task_id))).status.state


async def test_runs_wait_in_a_queue_and_are_refused_beyond_it():
    agent = Gated()
    async with (
        limited(agent.answer, runs=2, queued_runs=1) as url,
        connect(url) as client,
        httpx.AsyncClient(base_url=url, headers=V1, timeout=60) as http,
    ):
        tasks = [(await begin(client, str(n))).task for n in range(3)]
        assert [task.status.state for task in tasks] == [WORKING, WORKING, SUBMITTED]

        for method in ("SendMessage", "SendStreamingMessage"):
            response = await http.post("/", json=rpc(method, say("hello")))
            assert (response.status_code, response.headers["retry-after"]) == (503, "1")
            error = response.json()["error"]
            assert error["code"] == -32000
            assert error["message"] == "The agent is busy; try again later"
            assert error["data"][0]["reason"] == "SERVER_BUSY"
            assert error["data"][0]["metadata"] == {"retryAfterSeconds": "1"}
        for path in ("/message:send", "/message:stream"):
            response = await http.post(path, json=say("hello"))
            assert response.status_code == 503
            assert response.headers["retry-after"] == "1"
            assert response.json()["error"]["status"] == "UNAVAILABLE"
        assert (await http.get("/tasks")).json()["totalSize"] == 3, "a refusal leaves no task"

        # A waiting run can be cancelled, which frees its capacity.
        await client.cancel_task(CancelTaskRequest(id=tasks[2].id))
        waiting = (await begin(client, "3")).task
        assert await state_of(client, waiting.id) == SUBMITTED
        agent.gate.set()
        assert answer_of(await send(client, user_message("4"))) == "4"
        for task in (*tasks[:2], waiting):
            assert await state_of(client, task.id) == COMPLETED
    assert agent.most == 2


async def test_messages_waiting_for_their_conversation_do_not_delay_others():
    agent = Gated()
    async with limited(agent.answer, runs=2, queued_runs=5) as url, connect(url) as client:
        for _ in range(3):
            await begin(client, context_id="long")
        other = (await begin(client, context_id="other")).task
        assert other.status.state == WORKING
        agent.gate.set()


async def test_an_agent_can_call_another_on_its_port_under_any_load():
    async def back(text: str) -> str:
        return f"back: {text}"

    async def front(text: str) -> str:
        async with connect(f"{address}/agents/back/") as client:
            return answer_of(await send(client, user_message(text)))

    limits = {"runs": 1, "queued_runs": 10}
    async with (
        limited({"front": front, "back": back}, **limits) as address,
        connect(f"{address}/agents/front/") as client,
    ):
        asked = (send(client, user_message(str(n))) for n in range(3))
        answers = [answer_of(task) for task in await asyncio.gather(*asked)]
    assert sorted(answers) == ["back: 0", "back: 1", "back: 2"]


class Blocked:
    """A function that blocks its thread until it is released."""

    def __init__(self):
        self.gate = threading.Event()
        self.begun = 0

    def answer(self, text: str) -> str:
        self.begun += 1
        assert self.gate.wait(60)
        return text


async def count_of(http, metric):
    lines = (await http.get("/metrics")).text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(metric))


async def test_blocking_calls_of_an_agent_leave_others_their_threads(caplog):
    agent = Blocked()
    agents = {"slow": agent.answer, "quick": lambda text: text}
    options = ServerOptions(metrics=True, limits=Limits(threads=4))
    async with (
        running(build_app(agents, options=options)) as url,
        connect(f"{url}/agents/slow/") as slow,
        connect(f"{url}/agents/quick/") as quick,
        httpx.AsyncClient(base_url=url, timeout=60) as http,
    ):
        tasks = [(await begin(slow)).task for _ in range(20)]
        assert [task.status.state for task in tasks] == [WORKING] * 4 + [SUBMITTED] * 16
        assert answer_of(await send(quick, user_message("hello"))) == "hello"
        assert await count_of(http, 'a2a_queued{agent="slow"}') == 16
        assert await count_of(http, 'a2a_running{agent="slow"}') == 4
        # A waiting one can be cancelled, and gives way to the others.
        await slow.cancel_task(CancelTaskRequest(id=tasks[-1].id))
        agent.gate.set()
        async with asyncio.timeout(60):
            while await count_of(http, 'a2a_tasks_total{agent="slow",state="completed"}') < 19:
                pass
    assert agent.begun == 19
    assert caplog.text.count("Limits.threads") == 1


async def test_the_time_of_a_blocking_call_counts_from_its_thread():
    agent = Blocked()
    limits = {"threads": 1, "run_seconds": 1, "idle_seconds": 600}
    async with limited(agent.answer, **limits) as url, connect(url) as client:
        first = (await begin(client)).task
        waiting = [(await begin(client)).task for _ in range(3)]
        async with asyncio.timeout(60):
            while await state_of(client, first.id) != FAILED:
                pass
        # Its thread cannot be stopped, and the others have not begun.
        assert [await state_of(client, task.id) for task in waiting] == [SUBMITTED] * 3
        agent.gate.set()
        async with asyncio.timeout(60):
            while {await state_of(client, task.id) for task in waiting} != {COMPLETED}:
                pass


async def test_a_function_around_an_async_one_leaves_its_thread():
    agent, all_run, loop = Gated(), asyncio.Event(), asyncio.get_running_loop()

    def wrapped(text: str):
        if text == "last":
            loop.call_soon_threadsafe(all_run.set)
        return agent.answer(text)

    async with limited(wrapped, threads=2) as url, connect(url) as client:
        tasks = [(await begin(client)).task for _ in range(5)]
        tasks.append((await begin(client, "last")).task)
        await asyncio.wait_for(all_run.wait(), 60)
        agent.gate.set()
        async with asyncio.timeout(60):
            while {await state_of(client, task.id) for task in tasks} != {COMPLETED}:
                pass


async def test_a_refused_answer_leaves_the_question_open():
    agent = Gated()

    async def asking(request: AgentRequest):
        if request.text == "block":
            await agent.answer(request.text)
        else:
            answer = yield InputRequired("which city?")
            yield answer.text

    async with limited(asking, runs=1, queued_runs=0) as url, connect(url) as client:
        question = await send(client, user_message("book"))
        blocking = (await begin(client, "block")).task
        with pytest.raises(Exception, match="503"):
            await stream(client, user_message("Rome", task_id=question.id))
        assert await state_of(client, question.id) == TaskState.TASK_STATE_INPUT_REQUIRED
        agent.gate.set()
        async with asyncio.timeout(60):
            while await state_of(client, blocking.id) != COMPLETED:
                pass
        assert answer_of(await send(client, user_message("Rome", task_id=question.id))) == "Rome"


async def test_the_number_of_questions_is_limited():
    async def asking(request: AgentRequest):
        answer = yield InputRequired("which city?")
        yield answer.text

    async with limited(asking, waiting_tasks=2) as url, connect(url) as client:
        first, second, third = [await send(client, user_message("book")) for _ in range(3)]
        async with asyncio.timeout(60):
            while await state_of(client, first.id) != FAILED:
                pass
        for task in (second, third):
            assert answer_of(await send(client, user_message("Rome", task_id=task.id))) == "Rome"


async def test_an_idle_agent_is_stopped():
    async def quiet(text: str):
        yield "one"
        await asyncio.Event().wait()

    async with limited(quiet, idle_seconds=0.2) as url, connect(url) as client:
        task = await send(client, user_message("go"))
    assert task.status.state == FAILED
    assert "nothing came from it for 0.2 s" in task.status.message.parts[0].text
    assert answer_of(task) == "one"


async def test_a_working_agent_is_not_idle():
    async def steady(text: str):
        for _ in range(8):
            await asyncio.sleep(0.3)
            yield "."

    async def ticking(text: str):
        while True:
            await asyncio.sleep(0.1)
            yield "."

    async with limited(steady, idle_seconds=2) as url, connect(url) as client:
        assert answer_of(await send(client, user_message("go"))) == "." * 8
    async with limited(ticking, idle_seconds=2, run_seconds=4) as url, connect(url) as client:
        task = await send(client, user_message("go"))
    assert "stopped after 4 s" in task.status.message.parts[0].text


async def test_the_number_and_size_of_parts_are_limited():
    async def echo(text: str) -> str:
        return text

    async with (
        limited(echo, parts=3, part_bytes=1000) as url,
        httpx.AsyncClient(base_url=url, headers=V1, timeout=60) as http,
    ):
        for parts, problem in (
            ([{"text": "x"}] * 4, "has 3 parts at most"),
            ([{"text": "x" * 1001}], "has 1000 bytes at most"),
            ([{"raw": base64.b64encode(bytes(1001)).decode()}], "send the url"),
            ([{"data": ["x" * 999, "x"]}], "has 1000 bytes at most"),
        ):
            message = MESSAGE | {"parts": parts}
            error = (await http.post("/", json=rpc("SendMessage", {"message": message}))).json()[
                "error"
            ]
            assert error["code"] == -32602
            assert problem in error["message"]
            rest = await http.post("/message:send", json={"message": message})
            assert rest.status_code == 400
        fine = MESSAGE | {"parts": [{"text": "x" * 900}] * 3}
        assert "result" in (await http.post("/", json=rpc("SendMessage", {"message": fine}))).json()
        assert (await http.get("/tasks")).json()["totalSize"] == 1


async def test_messages_during_shutdown_are_refused_with_a_retry():
    app = build_app(Gated().answer)
    async with running(app) as url, httpx.AsyncClient(base_url=url, headers=V1, timeout=60) as http:
        await app.state.agents.drain()
        error = (await http.post("/", json=rpc("SendMessage", say("hello")))).json()["error"]
        assert (error["code"], error["message"]) == (-32000, "The server was stopped.")
        response = await http.post("/message:send", json=say("hello"))
        assert response.status_code == 503
