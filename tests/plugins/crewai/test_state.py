"""Flows with `@persist` have one state for each conversation."""

from __future__ import annotations

import asyncio

import pytest
from a2a.types import CancelTaskRequest, TaskState
from a2a_adapters_crewai import adapt
from crewai.flow import Flow, human_feedback, listen, persist, start
from crewai.flow.persistence import SQLiteFlowPersistence
from pydantic import BaseModel

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.crewai.support import answer, ask


class Said(BaseModel):
    message: str = ""
    said: list[str] = []


def noting() -> type[Flow[Said]]:
    """Return a new class: crewai's flows do not inherit their methods."""

    class Notes(Flow[Said]):
        suppress_flow_events: bool = True

        @start()
        def note(self):
            self.state.said.append(self.state.message)
            return ", ".join(self.state.said)

    return Notes


@pytest.fixture
def store(tmp_path):
    return SQLiteFlowPersistence(str(tmp_path / "flows.db"))


@pytest.fixture
def notes(store):
    """Return a class of flows that remember the messages."""
    return persist(store)(noting())


async def said(adapter, text, owner="ann", context="one"):
    return answer(await ask(adapter, text, owner=owner, context_id=context))


async def test_a_conversation_continues_from_its_state(notes):
    adapter = adapt(notes)
    assert await said(adapter, "cats") == "cats"
    assert await said(adapter, "dogs") == "cats, dogs"
    again = adapt(notes)  # simulates another process
    assert await said(again, "owls") == "cats, dogs, owls"


async def test_states_of_conversations_are_isolated(notes):
    adapter = adapt(notes)
    callers = [(f"owner {n % 4}", f"context {n // 4}") for n in range(16)]
    for turn in ("a", "b"):
        answers = [said(adapter, f"{turn} {o} {c}", o, c) for o, c in callers]
        got = await asyncio.gather(*answers)
    assert got == [f"a {o} {c}, b {o} {c}" for o, c in callers]


async def test_similar_names_make_different_states(notes):
    adapter = adapt(notes)
    await said(adapter, "cats", owner="a", context="bc")
    assert await said(adapter, "dogs", owner="ab", context="c") == "dogs"
    assert await said(adapter, "owls", owner="", context="abc") == "owls"


async def test_two_flows_in_one_database_are_isolated(store, notes):
    others = persist(store)(noting())
    others.__qualname__ = "Others"
    await said(adapt(notes), "cats")
    assert await said(adapt(others), "dogs") == "dogs"
    assert await said(adapt(notes(name="named")), "owls") == "owls"


async def test_a_persisting_method_stores_the_state(store):
    class Notes(Flow[Said]):
        suppress_flow_events: bool = True

        @start()
        @persist()
        def note(self):
            self.state.said.append(self.state.message)
            return ", ".join(self.state.said)

    adapter = adapt(lambda: Notes(persistence=store))
    await said(adapter, "cats")
    assert await said(adapter, "dogs") == "cats, dogs"


async def test_without_persist_every_run_starts_over(store):
    kind = noting()
    adapter = adapt(lambda: kind(persistence=store))
    await said(adapter, "cats")
    assert await said(adapter, "dogs") == "dogs"


async def test_a_conversation_has_one_question_at_a_time(store):
    @persist(store)
    class Review(Flow[Said]):
        suppress_flow_events: bool = True

        @start()
        @human_feedback(message="Good?")
        def draft(self):
            self.state.said.append(self.state.message)
            return self.state.message

        @listen(draft)
        def publish(self, review):
            return f"{', '.join(self.state.said)}: {review.feedback}"

    app = build_app(adapt(Review), options=ServerOptions())
    async with running(app) as url, connect(url) as client:
        first = await send(client, user_message("cats"))
        context = first.context_id
        second = await send(client, user_message("dogs", context_id=context))
        assert second.status.state == TaskState.TASK_STATE_REJECTED
        done = await send(client, user_message("yes", task_id=first.id))
        assert answer_of(done) == "cats: yes"
        third = await send(client, user_message("owls", context_id=context))
        await client.cancel_task(CancelTaskRequest(id=third.id))
        fourth = await send(client, user_message("bees", context_id=context))
        done = await send(client, user_message("ok", task_id=fourth.id))
        assert answer_of(done) == "cats, owls, bees: ok"
    async with running(build_app(adapt(Review))) as url, connect(url) as client:
        waiting = await send(client, user_message("cats"))
    async with running(build_app(adapt(Review))) as url, connect(url) as client:  # tasks are gone
        anew = await send(client, user_message("dogs", context_id=waiting.context_id))
        done = await send(client, user_message("yes", task_id=anew.id))
        assert answer_of(done) == "cats, dogs: yes"
