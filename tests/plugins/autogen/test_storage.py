"""States and questions survive a restart of a server with a storage."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from functools import partial

import pytest
from a2a.types import TaskState
from a2a_adapters_autogen import MemoryStateStore, adapt
from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import (
    HandoffTermination,
    MaxMessageTermination,
    TextMentionTermination,
)
from autogen_agentchat.messages import HandoffMessage
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat, Swarm
from google.protobuf import json_format

from a2a_adapters import (
    File,
    InputRequired,
    InvalidInputError,
    Rejected,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.autogen.support import (
    Custom,
    agent,
    answer,
    ask,
    calling,
    deltas,
    model,
    only,
    request,
)
from tests.plugins.sql.conftest import new_url
from tests.plugins.sql.test_durable import asked, caller
from tests.plugins.sql.test_resume import reason
from tests.support.adapters import Process
from tests.support.processes import launched
from tests.support.warm import warm


def process(url, target, agent="agent", **options):
    return Process(url, adapt(target, **options), agent)


def all_of(received):
    return " ".join(received)


def reviewed(kind=RoundRobinGroupChat, **options):
    """Return a team whose writer follows the instructions of the user."""
    ends = TextMentionTermination("APPROVE", sources=["human"])
    writer = Custom(lambda received: f"draft {len(received)} after {received[-1]}", "writer")
    return kind([writer, UserProxyAgent("human")], termination_condition=ends, **options)


def selected():
    """Return the same agents as a team whose speaker a function selects."""

    def next_speaker(thread):
        return "human" if thread[-1].source == "writer" else "writer"

    return reviewed(SelectorGroupChat, model_client=model("unused"), selector_func=next_speaker)


def handing():
    """Return a swarm whose agent hands over to a user proxy."""

    def answered(received):
        said = f"heard {len(received)}: {received[-1]}"
        return HandoffMessage(content=said, target="human", source="writer")

    ends = TextMentionTermination("APPROVE", sources=["human"])
    writer = Custom(answered, "writer", produces=[HandoffMessage])
    return Swarm([writer, UserProxyAgent("human")], termination_condition=ends)


async def test_a_conversation_continues_after_a_restart(url):
    received = []
    for text in ("one", "two", "three"):
        async with process(url, lambda: Custom(all_of)) as adapter:
            received.append(answer(await ask(adapter, text)))
    assert received == ["one", "one two", "one two three"]


async def test_owners_contexts_and_agents_are_isolated(url):
    places = [(owner, context) for owner in ("ann", "bob") for context in ("one", "two")]

    async def say(text):
        for name in ("first", "second"):
            async with process(url, lambda: Custom(all_of), agent=name) as adapter:
                calls = (
                    ask(
                        adapter, f"{text} {name} {owner} {context}", owner=owner, context_id=context
                    )
                    for owner, context in places
                )
                yield [answer(events) for events in await asyncio.gather(*calls)]

    assert len([answers async for answers in say("hi")]) == 2
    answers_again = [answers async for answers in say("ho")]
    assert answers_again == [
        [f"hi {name} {owner} {c} ho {name} {owner} {c}" for owner, c in places]
        for name in ("first", "second")
    ]


async def test_a_handoff_is_answered_after_a_restart(url):
    def swarm(*lines):
        handoff = Handoff(target="user", message="Which city?")
        member = agent(*lines, handoffs=[handoff])
        return Swarm([member], termination_condition=HandoffTermination("user"), max_turns=1)

    asks = partial(swarm, calling("transfer_to_user"))
    says = partial(swarm, "It rains in Rome.")
    async with process(url, asks) as adapter:
        question = only(await ask(adapter, "weather?"), InputRequired)
    assert question.durable
    async with process(url, says) as adapter:
        assert answer(await ask(adapter, "Rome", resuming=True)) == "It rains in Rome."


@pytest.mark.parametrize("make", [reviewed, selected])
async def test_a_user_proxy_is_answered_after_a_restart(url, make):
    async with process(url, make) as adapter:
        first = only(await ask(adapter, "write"), InputRequired)
    assert first == InputRequired("draft 1 after write\n\nEnter your response:", durable=True)
    async with process(url, make) as adapter:
        second = only(await ask(adapter, "shorter", resuming=True), InputRequired)
    assert second.prompt == "draft 2 after shorter\n\nEnter your response:"
    async with process(url, make) as adapter:
        await ask(adapter, "APPROVE", resuming=True)
        third = only(await ask(adapter, "again", task_id="t2"), InputRequired)
    assert third.prompt.startswith("draft 4 after again")


def approved():
    """Return a team that ends when the user approves, and after five messages at most."""
    writer = Custom(lambda received: f"the draft after {received[-1]}", "writer")
    ends = TextMentionTermination("APPROVE", sources=["human"]) | MaxMessageTermination(5)
    return RoundRobinGroupChat([writer, UserProxyAgent("human")], termination_condition=ends)


async def said_in(storage, target, texts):
    """Return the states and texts of a task after each of these messages."""
    app = build_app(target, options=ServerOptions(storage=storage))
    said = []
    async with running(app) as url, connect(url) as client:
        task_id = ""
        for text in texts:
            task = await send(client, user_message(text, task_id=task_id))
            task_id = task.id
            question = [part.text for part in task.status.message.parts]
            about = json_format.MessageToDict(task.metadata)
            said.append((task.status.state, question, answer_of(task), about))
    return said


@pytest.mark.parametrize("final", ["last", "all"])
@pytest.mark.parametrize(
    "texts", [["write", "APPROVE"], ["write", "shorter", "APPROVE"], ["write", "shorter", "again"]]
)
async def test_the_answer_is_the_same_with_and_without_a_storage(url, texts, final):
    target = adapt(approved, final=final)
    in_memory = await said_in("memory:", adapt(approved, final=final), texts)
    assert in_memory[-1][0] == TaskState.TASK_STATE_COMPLETED
    assert "the draft" in in_memory[-1][2]
    assert await said_in(url, target, texts) == in_memory


async def test_a_user_proxy_in_a_swarm_hands_the_answer_back(url):
    async with process(url, handing) as adapter:
        first = only(await ask(adapter, "write"), InputRequired)
    assert "Handoff received from writer" in first.prompt
    async with process(url, handing) as adapter:
        second = only(await ask(adapter, "shorter", resuming=True), InputRequired)
        assert second.durable
    async with process(url, handing) as adapter:
        await ask(adapter, "APPROVE", resuming=True)


async def test_turns_of_a_team_count_across_a_question(url):
    def team():
        writer = Custom(lambda received: f"draft {len(received)}", "writer")
        return RoundRobinGroupChat([writer, UserProxyAgent("human")], max_turns=3)

    async with process(url, team) as adapter:
        only(await ask(adapter, "write"), InputRequired)
    async with process(url, team) as adapter:
        assert answer(await ask(adapter, "shorter", resuming=True)) == "draft 2"


@pytest.mark.parametrize(
    "ends", [{"max_turns": 5}, {"termination_condition": MaxMessageTermination(6)}]
)
async def test_the_last_turn_is_predicted_after_questions(url, ends):
    def team():
        writer = agent(*["the text"] * 3, name="writer")
        return RoundRobinGroupChat([writer, UserProxyAgent("human")], **deepcopy(ends))

    for text in ("write", "shorter"):
        async with process(url, team) as adapter:
            asked = await ask(adapter, text, resuming=text != "write")
            assert only(asked, InputRequired).prompt.startswith("the text")
            assert deltas(asked) == []
    async with process(url, team) as adapter:
        assert deltas(await ask(adapter, "again", resuming=True)) == ["the", " text"]


async def test_a_shared_object_is_free_during_a_handoff(url):
    async with process(url, reviewed()) as adapter:
        for owner in ("ann", "bob"):
            asked = only(await ask(adapter, f"for {owner}", owner=owner), InputRequired)
            assert asked.prompt.startswith(f"draft 1 after for {owner}")
        for owner in ("bob", "ann"):
            asked = await ask(adapter, f"to {owner}", owner=owner, resuming=True)
            assert only(asked, InputRequired).prompt.startswith(f"draft 2 after to {owner}")


async def test_a_reply_without_text_repeats_the_question(url):
    async with process(url, reviewed) as adapter:
        await ask(adapter, "write")
    png = File(content=b"x", media_type="text/plain")
    async with process(url, reviewed) as adapter:
        with pytest.raises(InvalidInputError):
            adapter.stream(request(png, resuming=True))
        again = await ask(adapter, "shorter", resuming=True)
    assert only(again, InputRequired).prompt.startswith("draft 2 after shorter")


async def test_an_abandoned_handoff_leaves_the_conversation_unchanged(url):
    async with process(url, reviewed) as adapter:
        await ask(adapter, "write")
        assert only(await ask(adapter, "hi", task_id="other"), Rejected)
        await adapter.abandon(request())
    async with process(url, reviewed) as adapter:
        again = only(await ask(adapter, "anew", task_id="other"), InputRequired)
    assert again.prompt.startswith("draft 1 after anew")


async def test_a_custom_store_takes_precedence(url):
    store = MemoryStateStore()
    async with process(url, lambda: Custom(all_of), store=store) as adapter:
        await ask(adapter, "one")
    async with process(url, lambda: Custom(all_of)) as adapter:
        assert answer(await ask(adapter, "two")) == "two"


@pytest.mark.thorough
@pytest.mark.timeout(300)
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
