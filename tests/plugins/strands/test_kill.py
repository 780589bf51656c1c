"""A process is killed while its question waits; the next one takes the rest of the answers."""

from __future__ import annotations

import pytest

from tests.plugins.sql.test_resume import Caller, texts
from tests.support.processes import launched
from tests.support.warm import warm

SERVED = "tests.plugins.strands.served_asking"

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("served", ["agent", "graph"])
async def test_questions_outlive_their_process(served, tmp_path):
    command = warm("-m", SERVED, f"sqlite:///{tmp_path}/agents.db", str(tmp_path), served)
    task_id = ""
    for text, state in (
        ("book", "TASK_STATE_INPUT_REQUIRED"),
        ("in May", "TASK_STATE_INPUT_REQUIRED"),
        ("in June", "TASK_STATE_COMPLETED"),
    ):
        with launched(command) as (process, url):
            async with Caller(url) as caller:
                task = await caller.send(text, wait=True, task=task_id)
                assert task["status"]["state"] == state
                task_id = task["id"]
            process.kill()
    assert texts(task) == ["Let me see.", "Rome in May; Oslo in June"]
    assert (tmp_path / "booked").read_text() == "Rome\nOslo\n"
