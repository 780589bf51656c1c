"""Many callers at three processes with equal context ids are isolated."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import httpx
import pytest

from tests.plugins.sql.replicas.served import CALLERS

pytestmark = pytest.mark.timeout(300)

MESSAGES = 6
LEASE = "60"
"""Lease in seconds, long enough for slow machines."""


async def say(http, url, caller, number, *, waits):
    """Send a message; return its task once it has started or ended."""
    message = {
        "messageId": f"{caller}-message-{number}",
        "contextId": "talk",
        "role": "ROLE_USER",
        "parts": [{"text": f"recall {caller} {number}"}],
    }
    params = {"message": message, "configuration": {"returnImmediately": not waits}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    headers = {"A2A-Version": "1.0", "Authorization": f"Bearer {caller}"}
    answer = (await http.post(url, json=call, headers=headers)).json()
    return answer["result"]["task"]


async def talk(http, urls, caller, start):
    """Send messages to the processes in turn; return the last answer."""
    for number in range(MESSAGES):
        url = urls[(start + number) % len(urls)]
        task = await say(http, url, caller, number, waits=number == MESSAGES - 1)
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
