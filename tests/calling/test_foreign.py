"""Foreign agents, which answer in different ways."""

from __future__ import annotations

import pytest

from a2a_adapters import AgentReply, RemoteAgent, RemoteOptions, TextDelta
from a2a_adapters.testing import running
from tests.support.servers import FOREIGN_AGENTS


@pytest.fixture(params=FOREIGN_AGENTS, ids=str)
async def agent(request):
    async with running(FOREIGN_AGENTS[request.param]()) as url, RemoteAgent(url) as agent:
        yield agent


async def test_the_answer_comes_whole_and_once(agent):
    reply = await agent.send("ping")
    assert reply.text == "pong: ping"
    assert reply.state == "completed"


async def test_the_stream_has_the_same_content(agent):
    events = [event async for event in agent.stream("ping")]
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "pong: ping"
    assert isinstance(events[-1], AgentReply)
    assert events[-1].text == "pong: ping"
    assert sum(isinstance(event, AgentReply) for event in events) == 1


@pytest.mark.parametrize("name", ["status_deltas", "status_deltas_then_whole", "status_snapshots"])
async def test_text_of_statuses_comes_at_once_if_it_is_wanted(name):
    options = RemoteOptions(status_text=True)
    async with (
        running(FOREIGN_AGENTS[name]()) as url,
        RemoteAgent(url, options=options) as agent,
    ):
        *events, reply = [event async for event in agent.stream("ping")]
    assert [event.text for event in events] == ["pong", ": pi", "ng"]
    assert reply.text == "pong: ping"
