"""Streams that answer a question: the events after the message decide, then GetTask."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from a2a_adapters import AgentReply, RemoteAgent, RemoteRefusedError, RemoteTaskError, TextDelta
from a2a_adapters.testing import running
from tests.support.servers.told import (
    BINDINGS,
    BOOKED,
    FORMS,
    OLD,
    Told,
    artifact,
    said,
    status,
    task,
)


@asynccontextmanager
async def told(events, then=BOOKED, binding="JSONRPC", version="1.0"):
    """Yield the conversation whose question such events answer."""
    server = Told(events, then)
    async with server.app(binding, version) as app, running(app) as url, RemoteAgent(url) as agent:
        conversation = agent.conversation()
        asked = await conversation.send("book")
        assert (asked.state, asked.text) == ("input-required", "Which city?")
        yield conversation


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("binding", "version"), BINDINGS)
async def test_the_answer_is_that_of_the_task(binding, version, form):
    async with told(FORMS[form], BOOKED, binding, version) as conversation:
        reply = await conversation.send("Rome")
    assert (reply.state, reply.text) == ("completed", "booked")
    if reply.artifacts:
        assert [part.text for part in reply.artifacts[0].parts] == ["booked"]
    assert reply.is_corrected == (form in {"a corrected artifact", "a shortened artifact"})


@pytest.mark.parametrize(("binding", "version"), BINDINGS)
async def test_a_new_question_settles_the_answer(binding, version):
    new = status("INPUT_REQUIRED", "Which day?")
    for events, text in (
        ([OLD, new], "Which day?"),
        ([OLD, artifact("found"), new], "found\nWhich day?"),
        ([task("INPUT_REQUIRED", "Which day?")], "Which day?"),
        ([OLD, status("INPUT_REQUIRED", "Which city?")], "Which city?"),
    ):
        async with told(events, OLD, binding, version) as conversation:
            reply = await conversation.send("Rome")
            assert (reply.state, reply.text) == ("input-required", text)
            assert conversation.task_id == "t"


@pytest.mark.parametrize(("binding", "version"), BINDINGS)
async def test_a_failure_after_a_snapshot_raises(binding, version):
    async with told([OLD, status("FAILED", "no flights")], OLD, binding, version) as conversation:
        with pytest.raises(RemoteTaskError, match="no flights") as caught:
            await conversation.send("Rome")
    assert caught.value.state == "failed"


@pytest.mark.parametrize("then", [OLD, None], ids=["it asks again", "GetTask is unknown"])
async def test_a_task_that_stays_as_it_was_asks_again(then):
    async with told([OLD], then) as conversation:
        reply = await conversation.send("Rome")
    assert (reply.state, reply.text) == ("input-required", "Which city?")


@pytest.mark.parametrize("then", [task("WORKING"), None], ids=["it works", "GetTask is unknown"])
async def test_a_message_at_the_end_is_the_answer_of_a_task_without_another(then):
    async with told([task("WORKING"), said("booked")], then) as conversation:
        *events, reply = [event async for event in conversation.stream("Rome")]
    assert (reply.state, reply.text) == ("completed", "booked")
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "booked"


async def test_an_open_stream_of_an_agent_that_keeps_no_tasks_is_an_error():
    async with told([OLD, artifact("boo")], None) as conversation:
        with pytest.raises(RemoteRefusedError):
            await conversation.send("Rome")


async def test_text_that_is_read_is_said_once():
    async with told(FORMS["a snapshot and chunks"]) as conversation:
        *events, reply = [event async for event in conversation.stream("Rome")]
    assert [event.text for event in events] == ["boo", "ked"]
    assert isinstance(reply, AgentReply)
