from __future__ import annotations

import asyncio
from functools import partial

import pytest
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import TaskState
from a2a_adapters_autogen import MemoryStateStore, adapt
from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import HandoffTermination, TextMentionTermination
from autogen_agentchat.messages import HandoffMessage, StructuredMessage
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from pydantic import BaseModel

from a2a_adapters import (
    Data,
    File,
    InputRequired,
    InvalidInputError,
    Limits,
    Rejected,
    ServerOptions,
    TaskMetadata,
    build_app,
)
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.autogen.support import (
    Custom,
    agent,
    answer,
    ask,
    calling,
    only,
    reply,
    request,
    round_robin,
)
from tests.plugins.autogen.test_input import picture

PNG = File(content=picture(), media_type="image/png")


def asking_agent(*lines):
    handoff = Handoff(target="user", message="What is your name?")
    return agent(calling("transfer_to_user"), *lines, name="alice", handoffs=[handoff])


def knowing_agent(*lines):
    """Return the agent in a new process, where its model has only the remaining lines."""
    return agent(*lines, name="alice", handoffs=[Handoff(target="user")])


def swarm(member):
    ends = HandoffTermination(target="user") | TextMentionTermination("TERMINATE")
    return Swarm([member], termination_condition=ends)


def asks(answer, word="hi"):
    """Return an agent that asks the user for a name when the last message is `word`."""

    def answered(received):
        if received[-1] == word:
            return HandoffMessage(content="Name?", target="user", source="custom")
        return answer(received)

    return Custom(answered, produces=[HandoffMessage])


KINDS = [lambda member: member, swarm]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_shared", [False, True])
async def test_a_handoff_to_the_user_waits_for_the_answer(kind, is_shared):
    store = MemoryStateStore()
    before, after = kind(asking_agent()), kind(knowing_agent("Hello Bob. TERMINATE"))
    adapter = adapt(before if is_shared else lambda: kind(asking_agent()), store=store)
    question = only(await ask(adapter, "hi"), InputRequired)
    assert question.prompt == "What is your name?"
    assert question.durable
    assert question.metadata == {"source": "alice", "target": "user"}

    restarted = adapt(
        after if is_shared else lambda: kind(knowing_agent("Hello Bob. TERMINATE")), store=store
    )
    events = await reply(restarted, question, "Bob")
    assert answer(events) == "Hello Bob."


async def test_other_teams_continue_with_the_answer():
    def make():
        ends = HandoffTermination("user") | TextMentionTermination("Hello")
        member = asks(lambda received: f"Hello {received[-1]}")
        return RoundRobinGroupChat([member], termination_condition=ends)

    adapter = adapt(make)
    question = only(await ask(adapter, "hi"), InputRequired)
    assert answer(await reply(adapter, question, "Bob")) == "Hello Bob"


class Name(BaseModel):
    name: str


@pytest.mark.parametrize(
    ("parts", "received"),
    [([Data({"name": "Bob"})], 'hi / {"name":"Bob"}'), (["Bob", PNG], "hi / Bob")],
)
async def test_an_answer_with_data_or_an_image_reaches_a_swarm(parts, received):
    def make():
        return Swarm(
            [asks(" / ".join)],
            termination_condition=HandoffTermination("user"),
            max_turns=1,
            custom_message_types=[StructuredMessage[Name]],
        )

    adapter = adapt(make, input_type=Name)
    question = only(await ask(adapter, "hi"), InputRequired)
    assert answer(await reply(adapter, question, *parts)).startswith(received)


async def test_usage_counts_the_whole_task():
    store = MemoryStateStore()
    first = await ask(adapt(asking_agent, store=store), "hi")
    before = only(first, TaskMetadata).values["usage"]
    resumed = adapt(lambda: knowing_agent("Hello Bob."), store=store)
    events = await reply(resumed, only(first, InputRequired), "Bob")
    after = only(events, TaskMetadata).values["usage"]
    assert before["total_tokens"] == 7
    assert after["total_tokens"] > before["total_tokens"]


async def test_a_second_task_is_refused_while_a_question_is_open():
    adapter = adapt(asking_agent)
    await ask(adapter, "hi")
    rejected = only(await ask(adapter, "something else", task_id="other"), Rejected)
    assert "waits for an answer" in rejected.reason
    assert only(await ask(adapter, "hi", context_id="another"), InputRequired)
    assert only(await ask(adapter, "hi", owner="bob"), InputRequired)


async def test_an_abandoned_question_leaves_the_state_unchanged():
    adapter = adapt(lambda: asks(" ".join, "ask"))
    assert answer(await ask(adapter, "one")) == "one"
    question = only(await ask(adapter, "ask"), InputRequired)
    await adapter.abandon(request(task_id="another"))
    assert only(await ask(adapter, "two", task_id="t"), Rejected)
    await adapter.abandon(request())
    assert answer(await ask(adapter, "two")) == "one two"
    late = only(await reply(adapter, question, "Bob"), Rejected)
    assert "no longer open" in late.reason


async def test_a_resumed_run_that_fails_closes_the_question():
    def fail_or_join(received):
        if received[-1] == "fail":
            raise RuntimeError("no")
        return " ".join(received)

    adapter = adapt(lambda: asks(fail_or_join, "ask"))
    question = only(await ask(adapter, "ask"), InputRequired)
    with pytest.raises(RuntimeError, match="no"):
        await reply(adapter, question, "fail")
    assert answer(await ask(adapter, "one")) == "one"


async def test_an_invalid_answer_leaves_the_question_open():
    adapter = adapt(asking_agent)
    question = only(await ask(adapter, "hi"), InputRequired)
    with pytest.raises(InvalidInputError, match="cannot see images"):
        await reply(adapter, question, PNG)
    with pytest.raises(InvalidInputError, match="empty"):
        await reply(adapter, question, "")


def with_proxy(*, name="human", **options):
    ends = TextMentionTermination("APPROVE", sources=[name])
    writer = Custom(lambda received: f"draft {len(received)}", "writer")
    return RoundRobinGroupChat(
        [writer, UserProxyAgent(name, **options)], termination_condition=ends
    )


@pytest.mark.parametrize("options", [{}, {"input_func": input}])
async def test_a_user_proxy_asks_the_caller(options):
    adapter = adapt(lambda: with_proxy(**options))
    events = adapter.stream(request("write"))
    first = await anext(events)
    assert first == InputRequired("draft 1\n\nEnter your response:")
    second = await events.asend(request("shorter", resuming=True))
    assert second.prompt == "draft 2\n\nEnter your response:"
    rest = [await events.asend(request("APPROVE", resuming=True))]
    rest += [event async for event in events]
    assert answer(rest) == "draft 2"


async def test_a_user_proxy_without_a_team_asks_the_caller():
    adapter = adapt(lambda: UserProxyAgent("human"))
    events = adapter.stream(request("hi"))
    assert (await anext(events)).prompt == "Enter your response:"
    with pytest.raises(StopAsyncIteration):
        await events.asend(request("yes"))


async def test_a_user_proxy_with_its_own_input_function_keeps_it():
    async def elsewhere(prompt, token=None):
        return "APPROVE"

    adapter = adapt(lambda: with_proxy(input_func=elsewhere))
    assert answer(await ask(adapter, "write")) == "draft 1"


async def test_a_reply_without_text_repeats_the_question():
    adapter = adapt(with_proxy)
    events = adapter.stream(request("write"))
    await anext(events)
    again = await events.asend(request(PNG))
    assert again.prompt.startswith("please answer with text, without files\n\ndraft 1")
    assert "please answer with text" in (await events.asend(request(" "))).prompt
    data = await events.asend(request(Data({"approve": "no"})))
    assert data.prompt.startswith("draft 2")
    await events.aclose()


class SlowTeam(RoundRobinGroupChat):
    """Looks at each event for a while."""

    async def run_stream(self, **options):
        async for event in super().run_stream(**options):
            for _ in range(50):
                await asyncio.sleep(0)
            yield event


@pytest.mark.parametrize("kind", [RoundRobinGroupChat, SlowTeam])
@pytest.mark.parametrize("levels", [1, 2, 3])
async def test_a_question_comes_after_a_long_draft(levels, kind):
    draft = "so it goes on " * 30

    def make():
        made = kind([agent(draft), UserProxyAgent("human")], max_turns=2)
        for level in range(1, levels):
            made = round_robin(made, name=f"level{level}")
        return made

    question = only(await begun(adapt(make)), InputRequired)
    assert question.prompt == f"{draft}\n\nEnter your response:"


async def begun(adapter):
    """Return the events up to the first question."""
    events, found = adapter.stream(request("write")), []
    while not (found and isinstance(found[-1], InputRequired)):
        found.append(await anext(events))
    await events.aclose()
    return found


async def test_a_question_does_not_repeat_the_streamed_text():
    adapter = adapt(with_proxy, final="all")
    events = adapter.stream(request("write"))
    said = [await anext(events) for _ in range(3)]
    assert [each.text for each in said[:2]] == ["writer: draft 1"] * 2  # it is sent, and accepted
    assert said[2].prompt == "Enter your response:"
    await events.aclose()


async def test_a_waiting_conversation_accepts_no_second_run():
    adapter = adapt(with_proxy)
    events = adapter.stream(request("write"))
    await anext(events)
    assert only(await ask(adapter, "another", task_id="other"), Rejected)
    await events.aclose()
    again = adapter.stream(request("write"))
    assert (await anext(again)).prompt.startswith("draft 1")
    await again.aclose()


async def test_a_shared_object_that_waits_refuses_others():
    adapter = adapt(with_proxy())
    events = adapter.stream(request("write", owner="ann"))
    await anext(events)
    rejected = only(await ask(adapter, "write", owner="bob"), Rejected)
    assert "another caller" in rejected.reason
    await events.asend(request("APPROVE", resuming=True))
    await events.aclose()
    bob = adapter.stream(request("write", owner="bob"))
    assert (await anext(bob)).prompt.startswith("draft 1")
    await bob.aclose()


async def test_queued_runs_are_refused_too():
    adapter = adapt(with_proxy())
    ann = adapter.stream(request("write", owner="ann"))
    asking = asyncio.ensure_future(anext(ann))
    await asyncio.sleep(0)
    bob = asyncio.ensure_future(ask(adapter, "write", owner="bob"))
    await asking
    assert only(await bob, Rejected)
    await ann.aclose()


async def test_a_question_has_a_time_limit():
    limits = Limits(input_seconds=0.05)
    app = build_app(with_proxy(), options=ServerOptions(limits=limits))
    async with running(app) as url, connect(url) as client:
        await send(client, user_message("write"))
        state = TaskState.TASK_STATE_REJECTED
        while state == TaskState.TASK_STATE_REJECTED:  # while the first one waits
            state = (await send(client, user_message("write"))).status.state
        # It was asked, too; its own time may be up by now.
        assert state in (TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_FAILED)


async def test_it_works_over_the_wire():
    async with running(build_app(with_proxy)) as url, connect(url) as client:
        waiting = await send(client, user_message("write"))
        assert waiting.status.message.parts[0].text.startswith("draft 1")
        done = await send(client, user_message("APPROVE", task_id=waiting.id))
    assert answer_of(done) == "draft 1"


@pytest.mark.parametrize("is_task_kept", [False, True])
async def test_a_question_without_a_task_is_dropped(is_task_kept):
    states, tasks = MemoryStateStore(), InMemoryTaskStore()

    def app(*lines):
        make = partial(Custom, " ".join)
        if lines:
            make = partial(asking_agent, *lines)
        options = ServerOptions(task_store=tasks if is_task_kept else None)
        return build_app(adapt(make, store=states), options=options)

    async with running(app("never")) as url, connect(url) as client:
        waiting = await send(client, user_message("hi", context_id="one"))
        assert waiting.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    async with running(app()) as url, connect(url) as client:
        for text in ("again", "and again"):
            task = await send(client, user_message(text, context_id="one"))
            if is_task_kept:
                assert task.status.state == TaskState.TASK_STATE_REJECTED
                continue
            assert task.status.state == TaskState.TASK_STATE_COMPLETED
        assert is_task_kept or answer_of(task) == "again and again"
