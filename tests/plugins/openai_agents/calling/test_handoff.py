"""Handoffs to remote agents."""

from __future__ import annotations

import asyncio
from contextlib import closing

from a2a.types import TaskState
from a2a_adapters_openai_agents import a2a_handoff
from agents import RunConfig, Runner, SQLiteSession

from a2a_adapters import build_app
from a2a_adapters.plugin import AgentDescription
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.openai_agents.calling.support import booking, served
from tests.plugins.openai_agents.support import agent, calling

QUIET = RunConfig(tracing_disabled=True)
ABOUT = AgentDescription(name="The desk", description="Books trips.")


def front(remote):
    handoff = a2a_handoff(remote, ABOUT)
    return agent(calling("transfer_to_The_desk"), name="front", handoffs=[handoff])


async def test_the_card_is_the_description():
    async with served(booking) as remote:
        handoff = await asyncio.to_thread(a2a_handoff, remote)
    assert handoff.tool_name == "transfer_to_booking"
    assert "Book a trip" in handoff.tool_description
    assert handoff.agent_name == "booking"


async def test_handoffs_continue_the_conversation():
    async with served(booking) as remote:
        with closing(SQLiteSession("one")) as session:
            asked = await Runner.run(front(remote), "book", session=session, run_config=QUIET)
            assert asked.final_output == "Which city?"
            assert asked.last_agent.name == "The desk"
            done = await Runner.run(asked.last_agent, "Rome", session=session, run_config=QUIET)
    assert done.final_output == "Booked Rome."


async def test_agents_with_remote_handoffs_are_served():
    async with (
        served(booking) as remote,
        running(build_app(front(remote))) as url,
        connect(url) as client,
    ):
        asked = await send(client, user_message("book"))
        assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert asked.status.message.parts[0].text == "Which city?"
        done = await send(client, user_message("Rome", task_id=asked.id))
    assert answer_of(done) == "Booked Rome."
