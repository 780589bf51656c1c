from __future__ import annotations

from a2a_adapters_google_adk import A2AModel
from google.adk.agents import LlmAgent

from tests.support.once import asked_through, assert_counted_once


async def test_the_tokens_of_a_remote_model_count_once():
    def outer(remote):
        return LlmAgent(name="outer", model=A2AModel(remote))

    assert_counted_once(await asked_through(outer))
