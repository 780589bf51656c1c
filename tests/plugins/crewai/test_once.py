"""Tokens of remote agents count once, whether crewai adds them up or not."""

from __future__ import annotations

from a2a_adapters_crewai import A2ALLM, A2AAgent
from crewai import Agent, Crew, Task

from tests.support.once import SPENT, asked_through, assert_counted_once


def crew_of(member):
    return Crew(
        agents=[member], tasks=[Task(description="{topic}", expected_output="o", agent=member)]
    )


async def test_the_tokens_of_a_remote_model_count_once():
    def outer(remote):
        model = A2ALLM(agent=remote)
        return crew_of(Agent(role="Writer", goal="Write", backstory="b", llm=model))

    assert_counted_once(await asked_through(outer))


async def test_the_tokens_of_a_remote_member_count_once():
    def outer(remote):
        return crew_of(A2AAgent(agent=remote, role="Desk", goal="Book trips"))

    reply = await asked_through(outer)
    assert reply.usage == SPENT
