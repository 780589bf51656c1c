from __future__ import annotations

from a2a_adapters_agent_framework import A2AChatClient
from agent_framework import Agent

from tests.support.once import asked_through, assert_counted_once


async def test_the_tokens_of_a_remote_model_count_once():
    def outer(remote):
        return Agent(client=A2AChatClient(remote), name="outer")

    assert_counted_once(await asked_through(outer))
