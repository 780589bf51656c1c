from __future__ import annotations

from a2a_adapters_strands import A2AModel
from strands import Agent

from tests.support.once import asked_through, assert_counted_once


async def test_the_tokens_of_a_remote_model_count_once():
    def outer(remote):
        return lambda: Agent(model=A2AModel(remote), name="outer", callback_handler=None)

    assert_counted_once(await asked_through(outer))
