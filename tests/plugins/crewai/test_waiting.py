"""The task of a crew that waits in memory fails with a reason when its process is killed."""

from __future__ import annotations

import pytest

from tests.plugins.sql.conftest import new_url
from tests.plugins.sql.test_durable import asked, caller
from tests.plugins.sql.test_resume import reason
from tests.support.processes import launched
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(300)


async def test_a_review_held_in_memory_fails_with_its_process(tmp_path):
    module = "tests.plugins.crewai.served_human"
    command = warm("-m", module, new_url("sqlite", tmp_path))
    with launched(command) as (process, url):
        async with caller(url, "crew") as http:
            waiting = await http.send("cats", wait=True)
            assert asked(waiting).startswith("a draft")
            process.kill()
    with launched(command) as (_, url):
        async with caller(url, "crew") as http:
            ended = await http.ended(waiting["id"])
            again = await http.send("cats", wait=True)
    assert ended["status"]["state"] == "TASK_STATE_FAILED"
    assert "no longer waits for an answer" in reason(ended)
    assert asked(again).startswith("a draft")
