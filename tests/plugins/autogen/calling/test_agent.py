from __future__ import annotations

import asyncio
import json

import pytest
from a2a.types import CancelTaskRequest, TaskState
from a2a_adapters_autogen import A2AAgent, MemoryStateStore, adapt
from autogen_agentchat.base import TaskResult
from autogen_agentchat.conditions import HandoffTermination
from autogen_agentchat.messages import (
    HandoffMessage,
    ModelClientStreamingChunkEvent,
    MultiModalMessage,
    StructuredMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from autogen_agentchat.teams import (
    DiGraphBuilder,
    GraphFlow,
    RoundRobinGroupChat,
    SelectorGroupChat,
    Swarm,
)
from autogen_core import CancellationToken
from autogen_core.models import RequestUsage
from pydantic import BaseModel

from a2a_adapters import (
    AgentRequest,
    Data,
    InputRequired,
    RemoteAgent,
    RemoteTaskError,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.autogen.calling.support import (
    Endless,
    booking,
    everything,
    failing,
    reading,
    refusing,
    remembering,
    remote,
)
from tests.plugins.autogen.support import (
    Custom,
    agent,
    answer,
    ask,
    deltas,
    model,
    only,
    reply,
    round_robin,
)


async def events_of(runner, task, **options):
    return [e async for e in runner.run_stream(task=task, output_task_messages=False, **options)]


async def test_it_streams_and_then_answers_with_the_same_id():
    async with remote(remembering) as elsewhere:
        *chunks, message, result = await events_of(A2AAgent("far", elsewhere), "hi")
    assert isinstance(result, TaskResult)
    assert isinstance(message, TextMessage)
    assert (message.content, message.source) == ("hi", "far")
    assert message.models_usage == RequestUsage(prompt_tokens=3, completion_tokens=4)
    assert message.metadata["a2a_state"] == "completed"
    assert message.metadata["a2a_task_id"]
    assert {type(chunk) for chunk in chunks} == {ModelClientStreamingChunkEvent}
    assert {chunk.full_message_id for chunk in chunks} == {message.id}


async def test_it_remembers_and_can_be_reset():
    async with remote(remembering) as elsewhere:
        far = A2AAgent("far", elsewhere)
        await far.run(task="one")
        assert (await far.run(task="two")).messages[-1].content == "one | two"
        await far.on_reset(CancellationToken())
        assert (await far.run(task="three")).messages[-1].content == "three"


async def test_its_state_is_its_conversation():
    async with remote(remembering) as elsewhere:
        far = A2AAgent("far", elsewhere)
        await far.run(task="one")
        state = json.loads(json.dumps(await far.save_state()))
        later = A2AAgent("far", elsewhere)
        await later.load_state(state)
        assert (await later.run(task="two")).messages[-1].content == "one | two"


async def test_a_team_sends_only_new_messages():
    async with remote(remembering) as elsewhere:
        team = round_robin(agent("a draft", name="writer"), A2AAgent("far", elsewhere), max_turns=4)
        team = RoundRobinGroupChat(
            [agent("draft", "better", name="writer"), A2AAgent("far", elsewhere)], max_turns=4
        )
        result = await team.run(task="write")
    assert result.messages[-1].content == "user: write\nwriter: draft | writer: better"


async def test_without_new_messages_the_agent_is_asked_to_continue():
    async with remote(remembering) as elsewhere:
        result = await A2AAgent("far", elsewhere).run()
    assert result.messages[-1].content == "Please go on."


async def test_data_and_images_are_sent_and_come_back():
    class Order(BaseModel):
        item: str

    async with remote(reading) as elsewhere:
        task = StructuredMessage[Order](content=Order(item="tea"), source="user")
        result = await A2AAgent("far", elsewhere).run(task=task)
    assert result.messages[-1].content == "[{'item': 'tea'} True]"

    async with remote(everything, progress=True) as elsewhere:
        far = A2AAgent("far", elsewhere)
        *chunks, message, _ = await events_of(far, "hi")
        again = (await round_robin(A2AAgent("far", elsewhere)).run(task="hi")).messages[-1]
    assert isinstance(message, MultiModalMessage)
    text, image = message.content
    assert text == 'here:\n{"n":3}\n(A file: a.png)\n(A file: b.csv)\n(A file: broken.png)'
    assert image.image.size == (2, 1)
    assert again.content[0] == text
    call, done, *chunks = chunks
    assert isinstance(call, ToolCallRequestEvent)
    assert call.content[0].arguments == '{"at": "it"}'
    assert isinstance(done, ToolCallExecutionEvent)
    assert done.content[0].content == '["seen"]'
    assert "".join(chunk.content for chunk in chunks) == text


async def test_a_question_is_a_handoff_to_the_user():
    async with remote(booking) as elsewhere:
        far = A2AAgent("far", elsewhere, user="traveller")
        message, result = await events_of(far, "book")
        assert isinstance(message, HandoffMessage)
        assert (message.content, message.target) == ("Which city?", "traveller")
        assert message.metadata["a2a_state"] == "input-required"
        later = A2AAgent("far", elsewhere)
        await later.load_state(await far.save_state())
        done = (await later.run(task="Rome")).messages[-1]
    assert result.messages == [message]
    assert done.content == "Booked Rome."


def alone(far):
    return far


def swarm(far):
    return Swarm([far], termination_condition=HandoffTermination("user"), max_turns=1)


def round_robin_of(far):
    return RoundRobinGroupChat([far], termination_condition=HandoffTermination("user"), max_turns=1)


def in_another_team(far):
    return round_robin(agent("a draft", name="writer"), round_robin(far, name="inner"))


@pytest.mark.parametrize("kind", [alone, swarm, round_robin_of])
@pytest.mark.parametrize("is_shared", [True, False])
async def test_a_question_reaches_the_caller_when_it_is_served(kind, is_shared):
    async with remote(booking) as elsewhere:

        def make():
            return kind(A2AAgent("far", elsewhere))

        adapter = adapt(make() if is_shared else make)
        asked = await asyncio.gather(*(ask(adapter, "book", owner=o) for o in ("ann", "bob")))
        for owner, events in zip(("ann", "bob"), asked, strict=True):
            question = only(events, InputRequired)
            assert question.prompt == "Which city?"
            assert deltas(events) == []
            assert answer(await reply(adapter, question, owner, owner=owner)) == f"Booked {owner}."


def round_robin_with_others(far):
    return RoundRobinGroupChat([agent("a draft", name="writer"), far, echoing()], max_turns=3)


def round_robin_that_ends_at_handoffs(far):
    ends = HandoffTermination("user")
    return RoundRobinGroupChat([far, echoing()], termination_condition=ends, max_turns=2)


def graph(far):
    builder = DiGraphBuilder()
    after = echoing()
    builder.add_node(far).add_node(after).add_edge(far, after)
    return GraphFlow([far, after], graph=builder.build())


def forked_graph(far):
    builder = DiGraphBuilder()
    first, beside, after = agent("go", name="first"), agent("well", name="beside"), echoing()
    for node in (first, far, beside, after):
        builder.add_node(node)
    builder.add_edge(first, far).add_edge(first, beside)
    builder.add_edge(far, after).add_edge(beside, after)
    return GraphFlow([first, far, beside, after], graph=builder.build())


def selector(far):
    def choose(thread):
        return "far" if len(thread) < 2 else "echo"

    return SelectorGroupChat(
        [far, echoing()], model_client=model("none"), selector_func=choose, max_turns=2
    )


def nested(far):
    return round_robin(round_robin(far, name="inner"), echoing())


def echoing():
    return Custom(lambda heard: f"{heard[-1]} Bye." if "Booked" in heard[-1] else "?", "echo")


TEAMS = [
    round_robin_with_others,
    round_robin_that_ends_at_handoffs,
    graph,
    forked_graph,
    selector,
    nested,
]


@pytest.mark.parametrize("kind", TEAMS)
@pytest.mark.parametrize("storage", ["memory:", "sqlite"])
async def test_the_reply_goes_to_the_member_that_asked(kind, storage, tmp_path):
    if storage == "sqlite":
        storage = f"sqlite:///{tmp_path}/tasks.db"
    async with remote(booking) as elsewhere:
        options = ServerOptions(storage=storage)
        app = build_app(lambda: kind(A2AAgent("far", elsewhere)), name="team", options=options)
        async with running(app) as url, connect(url) as client:
            waiting = await send(client, user_message("book"))
            assert waiting.status.message.parts[0].text == "Which city?"
            done = await send(client, user_message("Rome", task_id=waiting.id))
    assert answer_of(done) == "Booked Rome. Bye."
    assert done.status.state == TaskState.TASK_STATE_COMPLETED


@pytest.mark.parametrize("kind", [round_robin_with_others, swarm, graph])
async def test_the_reply_goes_to_the_member_that_asked_after_a_restart(kind):
    async with remote(booking) as elsewhere:
        store = MemoryStateStore()
        adapters = [adapt(lambda: kind(A2AAgent("far", elsewhere)), store=store) for _ in "12"]
        question = only(await ask(adapters[0], "book"), InputRequired)
        events = await reply(adapters[1], question, "Rome")
    assert answer(events).startswith("Booked Rome.")


@pytest.mark.parametrize("kind", [alone, swarm, *TEAMS])
@pytest.mark.parametrize("is_shared", [True, False])
async def test_cancelling_a_task_cancels_the_one_that_asked(kind, is_shared):
    was_left = asyncio.Event()

    async def booking(request: AgentRequest):
        try:
            yield InputRequired("Which city?")
        finally:
            was_left.set()

    async with remote(booking) as elsewhere:

        def make():
            return kind(A2AAgent("far", elsewhere))

        app = build_app(make() if is_shared else make, name="team")
        async with running(app) as url, connect(url) as client:
            waiting = await send(client, user_message("book"))
            assert waiting.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
            assert not was_left.is_set()
            await client.cancel_task(CancelTaskRequest(id=waiting.id))
            await was_left.wait()


async def test_the_parts_of_questions_and_replies_are_passed_on():
    async def asking(request: AgentRequest):
        reply = yield InputRequired("Which?", (Data({"options": [1, 2]}),))
        yield f"Got {reply.text}."

    async with remote(asking) as elsewhere:
        adapter = adapt(lambda: round_robin_with_others(A2AAgent("far", elsewhere)), final=["far"])
        question = only(await ask(adapter, "book"), InputRequired)
        assert [part.value for part in question.parts] == [{"options": [1, 2]}]
        events = await reply(adapter, question, Data({"choice": 2}))
    assert answer(events) == 'Got {"choice":2}.'


async def test_it_works_over_the_wire_both_ways():
    async with remote(booking) as elsewhere:
        app = build_app(lambda: A2AAgent("far", elsewhere))
        async with running(app) as url, connect(url) as client:
            waiting = await send(client, user_message("book"))
            assert waiting.status.message.parts[0].text == "Which city?"
            done = await send(client, user_message("Rome", task_id=waiting.id))
    assert answer_of(done) == "Booked Rome."


async def test_a_failure_is_raised():
    async with remote(failing) as elsewhere:
        far = A2AAgent("far", elsewhere)
        with pytest.raises(RemoteTaskError):
            await far.run(task="hi")
        with pytest.raises(RuntimeError, match="RemoteTaskError"):
            await round_robin(far).run(task="hi")


@pytest.mark.parametrize("final", ["last", "all"])
@pytest.mark.parametrize("kind", [alone, round_robin_of, in_another_team])
async def test_a_rejection_rejects_the_task_of_those_that_asked(kind, final):
    async with remote(refusing) as elsewhere:
        app = build_app(adapt(lambda: kind(A2AAgent("far", elsewhere)), final=final))
        async with running(app) as url, connect(url) as client:
            task = await send(client, user_message("hi"))
    assert task.status.state == TaskState.TASK_STATE_REJECTED
    assert "has rejected the message" in task.status.message.parts[0].text
    assert not answer_of(task)


@pytest.mark.parametrize("in_team", [False, True])
async def test_cancelling_cancels_the_remote_task(in_team, has_begun):
    endless = Endless()
    async with remote(endless.__call__) as elsewhere:
        token = CancellationToken()
        far = A2AAgent("far", elsewhere)
        runner = round_robin(far) if in_team else far
        run = asyncio.create_task(runner.run(task="hi", cancellation_token=token))
        await has_begun.wait()
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await asyncio.wait_for(endless.was_stopped.wait(), 60)


async def test_the_card_gives_name_and_description():
    async with remote(booking) as elsewhere:
        far = await A2AAgent.from_card(elsewhere)
    assert far.name == "The_booking_agent"
    assert "Book a flight to a city that it asks for." in far.description


async def test_it_can_be_dumped_and_loaded():
    async with running(build_app(remembering)) as url:
        far = A2AAgent("far", url, description="Remembers.", user="me")
        loaded = A2AAgent.load_component(far.dump_component())
        assert (await loaded.run(task="hi")).messages[-1].content == "hi"
        await loaded.close()
    assert (loaded.name, loaded.description) == ("far", "Remembers.")
    with pytest.raises(ValueError, match="RemoteAgent"):
        A2AAgent("far", RemoteAgent(url)).dump_component()
