"""Memory limits of stored tasks."""

from __future__ import annotations

import asyncio
import json

import httpx
from a2a_adapters_omniroute import OmniRouteDialect

from a2a_adapters import BearerTokens, ServerOptions
from tests.plugins.omniroute.served import asking, body, result, reviewer, serving

KIB = 1024
TOKENS = ServerOptions(authentication=BearerTokens({"ann": "ann", "bob": "bob"}))


def few(kibibytes):
    return OmniRouteDialect(task_bytes=kibibytes * KIB)


async def kept(http, task_ids, headers=None):
    """Return the questions of tasks that are still stored."""
    found = []
    for task_id in task_ids:
        call = body("tasks/get", taskId=task_id)
        answer = (await http.post("/a2a", json=call, headers=headers)).json()
        if "result" in answer:
            found.append(answer["result"]["task"]["input"])
    return found


async def test_the_oldest_finished_tasks_make_room():
    async with serving(lambda text: "short", few(100)) as http:
        sent = [(await result(http, asking("x" * 30 * KIB)))["task"]["id"] for _ in range(10)]
        assert len(await kept(http, sent)) == 3
        assert (await kept(http, sent[-1:]))[0]["messages"][0]["content"] == "x" * 30 * KIB


async def test_answers_count_as_well():
    async with serving(lambda text: "x" * 30 * KIB, few(100)) as http:
        sent = [(await result(http, asking("short")))["task"]["id"] for _ in range(10)]
        assert len(await kept(http, sent)) == 3


async def test_a_caller_may_use_half_of_the_memory():
    async with serving(reviewer, few(200), options=TOKENS) as http:

        async def send(headers):
            call = asking("x" * 20 * KIB)
            answer = await http.post("/a2a", json=call, headers=headers)
            return answer.json()["result"]["task"]["id"]

        ann, bob = ({"Authorization": f"Bearer {user}"} for user in ("ann", "bob"))
        first = await send(bob)
        sent = [await send(ann) for _ in range(10)]
        assert len(await kept(http, sent, ann)) == 2
        assert len(await kept(http, [first], bob)) == 1


async def test_a_question_that_does_not_fit_is_answered_but_not_stored():
    async with serving(lambda text: str(len(text)), few(10)) as http:
        sent = await result(http, asking("x" * 20 * KIB))
        assert sent["artifacts"][0]["content"] == str(20 * KIB)
        assert await kept(http, [sent["task"]["id"]]) == [{}]


async def test_an_unread_stream_pauses_its_agent():
    said = 0

    async def talkative(text):
        nonlocal said
        for _ in range(1000):
            said += 1
            yield "x" * 64 * KIB

    async def settled():
        before = -1
        while said != before:
            before = said
            await asyncio.sleep(0.2)

    async with serving(talkative) as http:
        call = json.dumps(asking("go", "message/stream")).encode()
        url = httpx.URL(http.base_url)
        reader, writer = await asyncio.open_connection(url.host, url.port, limit=KIB)
        head = b"POST /a2a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(call) + call)
        assert b"200" in await reader.readline()
        async with asyncio.timeout(60):
            await settled()
        assert said < 1000
        writer.close()
