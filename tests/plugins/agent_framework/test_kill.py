"""A process is killed while its question waits; the next one takes the rest of the answers."""

from __future__ import annotations

import pytest

from tests.plugins.sql.test_resume import Caller, texts
from tests.support.processes import launched
from tests.support.warm import warm

SERVED = "tests.plugins.agent_framework.served_asking"

pytestmark = pytest.mark.timeout(300)


REFUSED = {
    "agent": "The user did not approve this call, and says: rather not",
    "workflow": "Error: Tool call invocation was rejected by user.",
}


@pytest.mark.parametrize("served", REFUSED)
async def test_questions_outlive_their_process(served, tmp_path):
    command = warm("-m", SERVED, f"sqlite:///{tmp_path}/agents.db", str(tmp_path), served)
    task_id = ""
    for text, state in (
        ("book", "TASK_STATE_INPUT_REQUIRED"),
        ("yes", "TASK_STATE_INPUT_REQUIRED"),
        ("rather not", "TASK_STATE_COMPLETED"),
    ):
        with launched(command) as (process, url):
            async with Caller(url) as caller:
                task = await caller.send(text, wait=True, task=task_id)
                assert task["status"]["state"] == state
                task_id = task["id"]
            process.kill()
    assert texts(task) == ["Let me see.", f"Rome booked; {REFUSED[served]}"]
    assert (tmp_path / "booked").read_text() == "Rome\n"
