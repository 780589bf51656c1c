"""Processes that are killed while a question waits."""

from __future__ import annotations

from tests.plugins.sql.test_resume import Caller, texts
from tests.support.processes import launched
from tests.support.warm import warm

SERVED = "tests.support.agents.served_clerk"


async def outliving(support, folder, replies, kind="agent"):
    """Send `book` to a clerk and each reply to its next process; return the answer's texts.

    Each process is killed after a message. The file `booked` in the folder has the booked cities.
    """
    storage = f"sqlite:///{folder}/agents.db"
    command = warm("-m", SERVED, storage, str(folder), support.__name__, kind)
    task_id, states = "", []
    for text in ("book", *replies):
        with launched(command) as (process, url):
            async with Caller(url) as caller:
                task = await caller.send(text, wait=True, task=task_id)
            task_id = task["id"]
            states.append(task["status"]["state"])
            process.kill()
    assert states == ["TASK_STATE_INPUT_REQUIRED"] * len(replies) + ["TASK_STATE_COMPLETED"]
    return texts(task)
