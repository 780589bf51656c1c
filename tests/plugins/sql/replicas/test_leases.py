"""Processes that die, stop or sleep lose their tasks to others; many callers stay isolated."""

from __future__ import annotations

import asyncio
import signal
from contextlib import ExitStack

import httpx
import pytest

from tests.plugins.sql.replicas.served import CALLERS
from tests.plugins.sql.test_resume import Caller, reason, texts
from tests.support.requests import V1, rpc, say

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]


async def test_tasks_of_a_killed_process_are_resumed_or_failed(replicas):
    with replicas.running() as (first, at_first), replicas.running() as (_, at_second):
        async with Caller(at_first) as one, Caller(at_second) as other:
            counting = await one.send("count", context="a")
            ticking = await one.send("tick", context="b")
            await replicas.noted(f"count {first.command_pid}")
            await replicas.noted(f"tick {first.command_pid}")
            first.kill()
            ticked = await other.ended(ticking["id"])
            replicas.touch("go")
            counted = await other.ended(counting["id"])
    assert counted["status"]["state"] == "TASK_STATE_COMPLETED"
    assert texts(counted) == ["0 1 2 "]
    assert ticked["status"]["state"] == "TASK_STATE_FAILED"
    assert reason(ticked).startswith("It was stopped.")


async def test_a_process_suspended_beyond_its_lease_stops_its_tasks(replicas):
    with replicas.running() as (sleeper, at_sleeper), replicas.running() as (_, at_other):
        async with Caller(at_sleeper) as one, Caller(at_other) as other:
            ticking = await one.send("tick")
            await replicas.noted(f"tick {sleeper.command_pid}")
            sleeper.send_signal(signal.SIGSTOP)
            ended = await other.ended(ticking["id"])
            sleeper.send_signal(signal.SIGCONT)
            while True:  # until it notices
                before = len(replicas.log())
                await asyncio.sleep(1)
                if len(replicas.log()) == before:
                    break
            assert await one.get(ticking["id"]) == await other.get(ticking["id"]) == ended
            # It continues serving, including resumable tasks.
            replicas.touch("go")
            done = await one.send("count", wait=True, context="d")
            assert texts(done) == ["0 1 2 "]


async def test_a_suspended_process_returns_no_outdated_state(replicas):
    with replicas.running() as (sleeper, at_sleeper), replicas.running() as (_, at_other):
        async with Caller(at_sleeper) as one, Caller(at_other) as other:
            counting = await one.send("count")
            await replicas.noted(f"count {sleeper.command_pid}")
            sleeper.send_signal(signal.SIGSTOP)
            replicas.touch("go")
            ended = await other.ended(counting["id"])
            asking = asyncio.ensure_future(one.get(counting["id"]))
            await asyncio.wait([asking], timeout=0.2)  # pending when the process wakes
            sleeper.send_signal(signal.SIGCONT)
            assert await asking == ended


async def test_a_stopped_process_releases_its_tasks_at_once(replicas):
    with replicas.running() as (first, at_first), replicas.running() as (second, at_second):
        async with Caller(at_first) as one, Caller(at_second) as other:
            counting = await one.send("count")
            await replicas.noted(f"count {first.command_pid}")
            first.terminate()
            await replicas.noted(f"count {second.command_pid}")
            replicas.touch("go")
            counted = await other.ended(counting["id"])
    assert texts(counted) == ["0 1 2 "]


MESSAGES = 6
LEASE = "60"
"""Lease in seconds, long enough for slow machines."""


async def sent(http, url, caller, number, *, waits):
    """Send a message; return its task once it has started or ended."""
    text = f"recall {caller} {number}"
    message = say(text, messageId=f"{caller}-message-{number}", contextId="talk")
    params = {**message, "configuration": {"returnImmediately": not waits}}
    headers = {**V1, "Authorization": f"Bearer {caller}"}
    answer = await http.post(url, json=rpc("SendMessage", params), headers=headers)
    return answer.json()["result"]["task"]


async def talk(http, urls, caller, start):
    """Send messages to the processes in turn; return the last answer."""
    for number in range(MESSAGES):
        url = urls[(start + number) % len(urls)]
        task = await sent(http, url, caller, number, waits=number == MESSAGES - 1)
    assert task["status"]["state"] == "TASK_STATE_COMPLETED", task["status"]
    return "".join(part["text"] for item in task["artifacts"] for part in item["parts"])


async def test_forty_callers_at_three_processes_get_their_own_history_in_order(replicas):
    with ExitStack() as stack:
        urls = [stack.enter_context(replicas.running(LEASE))[1] for _ in range(3)]
        async with httpx.AsyncClient(timeout=200) as http:
            answers = await asyncio.gather(
                *(talk(http, urls, caller, start) for start, caller in enumerate(CALLERS))
            )
    for caller, answer in zip(CALLERS, answers, strict=True):
        said = [f"recall {caller} {number}" for number in range(MESSAGES)]
        assert answer == "\n".join(said)
