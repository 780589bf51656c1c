"""The task of a team that waits in memory fails with a reason when its process is killed."""

from __future__ import annotations

import pytest

from tests.plugins.sql.conftest import new_url
from tests.plugins.sql.test_durable import asked, caller
from tests.plugins.sql.test_resume import reason
from tests.support.processes import launched
from tests.support.warm import warm

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]


@pytest.mark.parametrize("team", ["nested", "graph"])
async def test_a_question_held_in_memory_fails_with_its_process(tmp_path, team):
    command = warm("-m", "tests.plugins.autogen.served_waiting", new_url("sqlite", tmp_path))
    with launched(command) as (process, url):
        async with caller(url, team) as http:
            waiting = await http.send("write", wait=True)
            first = asked(waiting)
            process.kill()
    with launched(command) as (_, url):
        async with caller(url, team) as http:
            ended = await http.ended(waiting["id"])
            again = await http.send("write", wait=True)
    assert ended["status"]["state"] == "TASK_STATE_FAILED"
    assert "no longer waits for an answer" in reason(ended)
    assert asked(again) == first, "the conversation is as it was before"
