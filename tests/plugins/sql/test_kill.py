"""A kill at a random moment loses nothing acknowledged and repeats nothing."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.support.processes import launched
from tests.support.warm import warm

SERVED = Path(__file__).with_name("served.py")
V1 = {"A2A-Version": "1.0"}
TERMINAL = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED"}
MESSAGES = 48

pytestmark = pytest.mark.timeout(300)


async def rpc(http, method, params):
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return (await http.post("/", json=call, headers=V1)).json()


async def send(http, message_id):
    message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": message_id}]}
    return await rpc(http, "SendMessage", {"message": message})


async def send_until_killed(url, process, kill_after):
    """Send messages continuously; return all, and the tasks of the acknowledged ones."""
    sent, acknowledged = [], {}
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:

        async def one():
            message_id = uuid4().hex
            sent.append(message_id)
            try:
                answer = await send(http, message_id)
            except httpx.HTTPError:
                return
            acknowledged[message_id] = answer["result"]["task"]["id"]
            if len(acknowledged) == kill_after:
                process.kill()

        async def sender():
            for _ in range(MESSAGES // 6):
                await one()

        await asyncio.gather(*(sender() for _ in range(6)))
    return sent, acknowledged


async def settled(http):
    """Return the states of all tasks by id, once none is running."""
    while True:
        listed, token = {}, ""
        while True:
            page = (await rpc(http, "ListTasks", {"pageSize": 100, "pageToken": token}))["result"]
            listed |= {task["id"]: task["status"]["state"] for task in page.get("tasks", [])}
            if not (token := page.get("nextPageToken", "")):
                break
        if set(listed.values()) <= TERMINAL:
            return listed
        await asyncio.sleep(0.2)


@pytest.mark.parametrize("seed", [1])
async def test_acknowledged_messages_are_kept_and_nothing_is_repeated(database_url, tmp_path, seed):
    effects = tmp_path / "effects"
    command = warm("-m", "tests.plugins.sql.served", database_url, str(effects))
    with launched(command) as (process, url):
        kill_after = random.Random(seed).randrange(5, MESSAGES - 10)
        sent, acknowledged = await send_until_killed(url, process, kill_after)
    assert len(acknowledged) >= kill_after
    with launched(command) as (_, url):
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            found = await settled(http)
            assert set(acknowledged.values()) <= set(found)
            assert {found[task] for task in acknowledged.values()} == {"TASK_STATE_COMPLETED"}
            # All are repeated: started ones do not run again, the others start.
            for message_id in sent:
                task = (await send(http, message_id))["result"]["task"]
                assert task["id"] == acknowledged.get(message_id, task["id"])
                assert task["status"]["state"] in TERMINAL
    done = Counter(effects.read_text().split())
    assert set(done.values()) == {1}
    assert set(acknowledged) <= set(done)
