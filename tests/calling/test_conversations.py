"""Conversations with a remote agent: their ids, turns and open questions."""

from __future__ import annotations

import asyncio

import pytest

from a2a_adapters import (
    AgentRequest,
    BearerAuth,
    BearerTokens,
    InputRequired,
    RemoteAgent,
    RemoteOptions,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import running
from tests.support.servers.front import Recording
from tests.support.servers.states import QUESTION, SECOND_QUESTION, asks_city, asks_twice


async def test_the_next_message_of_a_conversation_answers_the_question():
    async with running(asks_twice()) as url, RemoteAgent(url) as agent:
        conversation = agent.conversation()
        first = await conversation.send("book a room")
        second = await conversation.send("Rome")
        last = await conversation.send("Monday")
        assert (first.text, second.text) == (QUESTION, SECOND_QUESTION)
        assert first.is_question
        assert last.text == "Booked: Monday"
        assert not last.is_question
        assert first.task_id == second.task_id == last.task_id
        assert conversation.task_id == ""


async def book(request: AgentRequest):
    city = yield InputRequired(QUESTION)
    yield f"Booked: {city.text}"


def ours():
    options = ServerOptions(authentication=BearerTokens({"a": "anna", "b": "ben"}))
    return build_app(book, options=options)


@pytest.mark.parametrize("make", [asks_city, ours], ids=["a2a-sdk", "ours"])
async def test_a_conversation_that_began_elsewhere_answers_its_open_question(make):
    recording = Recording(make())
    async with running(recording) as url:
        anna, elsewhere, ben = (RemoteAgent(url, auth=BearerAuth(token)) for token in "aab")
        async with anna, elsewhere, ben:
            asked = await anna.conversation().send("book a room")
            assert "ListTasks" not in recording.methods
            if make is ours:  # the other one has no callers
                others = await ben.conversation(context_id=asked.context_id).send("Oslo")
                assert (others.text, others.task_id == asked.task_id) == (QUESTION, False)
            conversation = elsewhere.conversation(context_id=asked.context_id)
            answer = await conversation.send("Rome")
            again = await conversation.send("book another")
    assert (answer.text, answer.task_id) == ("Booked: Rome", asked.task_id)
    assert again.text == QUESTION
    assert recording.methods.count("ListTasks") == (2 if make is ours else 1)


async def test_an_agent_that_lists_no_tasks_gets_a_new_one():
    async with running(build_app(book)) as url, RemoteAgent(url) as agent:
        card = await agent.card()
        kept = [each for each in card.supported_interfaces if each.protocol_version == "0.3"]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)
        async with RemoteAgent(card) as old:
            asked = await old.send("book a room")
            reply = await old.conversation(context_id=asked.context_id).send("Rome")
    assert (reply.text, reply.task_id == asked.task_id) == (QUESTION, False)


async def test_a_message_queued_before_a_question_does_not_answer_it():
    """Two concurrent calls of one model turn: the second does not answer the first."""
    async with running(asks_city()) as url, RemoteAgent(url) as agent:
        conversation = agent.conversation("thread")
        replies = await asyncio.gather(conversation.send("one"), conversation.send("two"))
    assert [reply.text for reply in replies] == [QUESTION, QUESTION]
    assert replies[0].task_id != replies[1].task_id
    assert replies[0].context_id == replies[1].context_id


async def test_conversations_by_key_stay_apart():
    async def count(request: AgentRequest):
        yield f"{request.text}: {len(request.history)}"

    async def talk(agent, key):
        said = []
        for number in range(3):
            reply = await agent.conversation(key).send(f"{key}-{number}")
            said.append(reply.text.partition(":")[0])
        return said, agent.conversation(key).context_id

    async with running(build_app(count)) as url, RemoteAgent(url) as agent:
        results = await asyncio.gather(*(talk(agent, f"k{number}") for number in range(20)))
    assert [said for said, _ in results] == [
        [f"k{n}-{turn}" for turn in range(3)] for n in range(20)
    ]
    assert len({context_id for _, context_id in results}) == 20


async def test_the_conversations_that_were_not_used_longest_are_forgotten():
    agent = RemoteAgent("http://127.0.0.1:1", options=RemoteOptions(conversations=2))
    first = agent.conversation("a")
    agent.conversation("b")
    assert agent.conversation("a") is first
    agent.conversation("c")
    agent.conversation("b")
    assert agent.conversation("a") is not first


async def test_a_message_carries_the_ids_of_its_conversation():
    recording = Recording()
    async with running(recording) as url, RemoteAgent(url) as agent:
        conversation = agent.conversation("my own key")
        await conversation.send("ping")
        await conversation.send("ping")
        await agent.conversation(context_id="theirs").send("ping")
    contexts = [message.get("contextId") for message in recording.messages]
    assert contexts[0] is None
    assert contexts[1] == conversation.context_id
    assert contexts[2] == "theirs"
    assert "my own key" not in str([received.body for received in recording.received])
