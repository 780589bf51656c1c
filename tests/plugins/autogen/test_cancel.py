from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_autogen import adapt
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import DiGraphBuilder, GraphFlow, SelectorGroupChat

from tests.plugins.autogen.support import (
    Custom,
    agent,
    answer,
    ask,
    calling,
    model,
    request,
    round_robin,
    run,
)
from tests.support.outliving import Blocking, check_it_learns_of_cancellation


class Work:
    """Blocks the first time, and records its start and end."""

    def __init__(self):
        self.log = []
        self.started = asyncio.Event()

    async def __call__(self, what="work"):
        self.log.append(what)
        if len(self.log) > 1:
            return "quick"
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.log.append("cancelled")
            raise


async def cancel_when(started, adapter, asked):
    """Run until `started`, then cancel as the core does."""
    task = asyncio.create_task(run(adapter, asked))
    await started.wait()
    asked.cancelled.set()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def alone(member):
    return member


def nested(member):
    return round_robin(round_robin(member, name="inner"))


def graph(member):
    builder = DiGraphBuilder()
    after = Custom(lambda _: "after", "after")
    builder.add_node(member).add_node(after).add_edge(member, after)
    return GraphFlow([member, after], graph=builder.build())


def team(member):
    return round_robin(member, max_turns=3)


@pytest.mark.parametrize("kind", [alone, team, nested, graph])
@pytest.mark.parametrize("is_shared", [False, True])
async def test_cancel_ends_an_agent_that_ignores_the_token(kind, is_shared):
    work = Work()

    def make():
        return kind(Custom(lambda _: work()))

    adapter = adapt(make() if is_shared else make)
    await cancel_when(work.started, adapter, request("hi"))
    assert work.log == ["work", "cancelled"]
    assert answer(await ask(adapter, "again")) in {"quick", "after"}


@pytest.mark.parametrize("kind", [alone, team, nested])
@pytest.mark.parametrize("is_shared", [False, True])
async def test_cancel_ends_a_tool_and_nothing_is_called_afterwards(kind, is_shared):
    work = Work()

    async def slow() -> str:
        """Take long."""
        return await work()

    client = model(calling("slow"), *["second"] * 9)

    def make():
        return kind(AssistantAgent("helper", client, tools=[slow], reflect_on_tool_use=True))

    adapter = adapt(make() if is_shared else make)
    await cancel_when(work.started, adapter, request("hi"))
    assert work.log == ["work", "cancelled"]
    assert len(client.create_calls) == 1
    assert answer(await ask(adapter, "again")) == "second"
    assert [m.content for m in client.create_calls[1]["messages"]][1:] == ["again"]


async def test_cancel_ends_the_choice_of_a_speaker():
    work = Work()
    client = model("unused")

    async def create(*_, **__):
        await work()

    client.create = create

    def make():
        members = [agent("one", name="one"), agent("two", name="two")]
        return SelectorGroupChat(members, model_client=client, max_turns=1)

    adapter = adapt(make)
    await cancel_when(work.started, adapter, request("hi"))
    assert work.log == ["work", "cancelled"]


async def test_cancelling_a_queued_run_affects_no_other():
    go_on = asyncio.Event()
    started = asyncio.Event()

    async def answered():
        started.set()
        await go_on.wait()
        return "done"

    adapter = adapt(Custom(lambda _: answered()))
    first = asyncio.create_task(ask(adapter, "hi", owner="ann"))
    await started.wait()
    second = asyncio.create_task(ask(adapter, "hi", owner="bob"))
    third = asyncio.create_task(ask(adapter, "hi", owner="cid"))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    go_on.set()
    assert answer(await first) == "done"
    assert answer(await third) == "done"


async def test_a_run_that_ignores_its_cancellation_is_logged(caplog):
    started, end = asyncio.Event(), asyncio.Event()

    async def stubborn():
        started.set()
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    adapter = adapt(Custom(lambda _: stubborn()))
    await cancel_when(started, adapter, request("hi"))
    assert "ignores the cancellation" in caplog.text
    again = asyncio.create_task(ask(adapter, "again"))  # waits until the object is free
    end.set()
    assert answer(await again) == "late"


async def test_a_run_that_cancels_itself_fails():
    async def odd():
        raise asyncio.CancelledError

    adapter = adapt(lambda: Custom(lambda _: odd()))
    with pytest.raises(RuntimeError, match="cancelled by its own code"):
        await ask(adapter, "hi")


async def test_a_cancelled_run_leaves_no_tasks():
    work = Work()
    adapter = adapt(lambda: team(Custom(lambda _: work())))
    before = asyncio.all_tasks()
    await cancel_when(work.started, adapter, request("hi"))
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("kind", [alone, team])
async def test_a_tool_that_blocks_a_thread_is_logged(kind, caplog):
    blocking = Blocking()

    def look() -> str:
        """Look."""
        return blocking()

    def make():
        return kind(agent(calling("look"), tools=[look]))

    await check_it_learns_of_cancellation(make, blocking, caplog)
