"""What callers say stays data in what is stored."""

from __future__ import annotations

import json

from tests.plugins.restarts import Process
from tests.plugins.smolagents.support import Fake, adapt, made, said
from tests.support.adapters import answer, ask
from tests.support.agents.state import hostile_values


async def test_stored_state_names_no_class(url, tmp_path):
    values = [json.dumps(value) for value in hostile_values(tmp_path / "mark")]
    for value in (*values, "all"):
        served = made(Fake(lambda messages: json.dumps(said(messages))))
        async with Process(url, adapt(served), "agent") as adapter:
            heard = answer(await ask(adapter, value))
    assert json.loads(heard) == [*values, "all"]
    assert not (tmp_path / "mark").exists()
