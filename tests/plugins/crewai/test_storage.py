"""States and questions of flows survive a restart of a server with a storage."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_crewai import adapt
from crewai.flow import Flow, human_feedback, listen, persist, start
from crewai.flow.persistence import SQLiteFlowPersistence
from pydantic import BaseModel

from a2a_adapters import Rejected
from tests.plugins.crewai.support import answer, ask, request, run
from tests.support.adapters import Process


def process(url, target, agent="agent"):
    return Process(url, adapt(target), agent)


class Said(BaseModel):
    message: str = ""
    said: list[str] = []


class Silent(Flow[Said]):
    suppress_flow_events: bool = True


@persist()
class Notes(Silent):
    @start()
    def note(self):
        self.state.said.append(self.state.message)
        return ", ".join(self.state.said)


class Steps(Silent):
    @start()
    @persist()
    def note(self):
        self.state.said.append(self.state.message)
        return ", ".join(self.state.said)


class Review(Silent):
    @start()
    @human_feedback(message="Good?")
    def draft(self):
        self.state.said.append(self.state.message)
        return self.state.message

    @listen(draft)
    @human_feedback(message="Really?")
    def improve(self, review):
        return f"{review.output}, {review.feedback}"

    @listen(improve)
    def publish(self, review):
        return f"{review.output}, {review.feedback} after {', '.join(self.state.said)}"


@persist()
class KeptReview(Silent):
    @start()
    @human_feedback(message="Good?")
    def draft(self):
        self.state.said.append(self.state.message)
        return self.state.message

    @listen(draft)
    def publish(self, review):
        return f"{review.feedback} after {', '.join(self.state.said)}"


@pytest.mark.parametrize("kind", [Notes, Steps])
async def test_a_conversation_continues_after_a_restart(url, kind):
    answers = []
    for text in ("cats", "dogs"):
        async with process(url, kind) as adapter:
            answers.append(answer(await ask(adapter, text)))
    assert answers == ["cats", "cats, dogs"]


async def test_an_abandoned_run_stores_nothing(url):
    async with process(url, Notes) as adapter:
        deaf = request("cats")
        deaf.cancelled.left_behind = True
        assert answer(await run(adapter, deaf)) == "cats"
        assert answer(await ask(adapter, "dogs")) == "dogs"


async def test_owners_contexts_and_agents_are_isolated(url):
    places = [(owner, context) for owner in ("ann", "bob") for context in ("one", "two")]

    async def say(text, name):
        async with process(url, Notes, agent=name) as adapter:
            calls = (
                ask(adapter, f"{text} {name} {owner} {context}", owner=owner, context_id=context)
                for owner, context in places
            )
            return [answer(events) for events in await asyncio.gather(*calls)]

    for name in ("first", "second"):
        assert await say("hi", name) == [f"hi {name} {o} {c}" for o, c in places]
    for name in ("first", "second"):
        expected = [f"hi {name} {o} {c}, ho {name} {o} {c}" for o, c in places]
        assert await say("ho", name) == expected


async def test_questions_are_answered_after_restarts(url):
    async with process(url, Review) as adapter:
        first = (await ask(adapter, "cats"))[-1]
    assert first.durable
    again = {"resuming": True, "resume_metadata": first.metadata}
    async with process(url, Review) as adapter:
        second = (await ask(adapter, "shorter", **again))[-1]
    assert second.prompt == "Really?\n\ncats, shorter"
    again = {"resuming": True, "resume_metadata": second.metadata}
    async with process(url, Review) as adapter:
        assert answer(await ask(adapter, "yes", **again)) == "cats, shorter, yes after cats"
        late = request("yes", **again)
        assert isinstance((await run(adapter, late))[0], Rejected)


async def test_a_question_of_a_flow_with_stored_state(url):
    async with process(url, KeptReview) as adapter:
        first = (await ask(adapter, "cats"))[-1]
    async with process(url, KeptReview) as adapter:
        refused = await ask(adapter, "dogs", task_id="other")
        assert isinstance(refused[0], Rejected)
        again = {"resuming": True, "resume_metadata": first.metadata}
        assert answer(await ask(adapter, "fine", **again)) == "fine after cats"
    async with process(url, KeptReview) as adapter:
        second = (await ask(adapter, "dogs"))[-1]
        await adapter.abandon(request(resume_metadata=second.metadata))
        third = (await ask(adapter, "owls"))[-1]
        again = {"resuming": True, "resume_metadata": third.metadata}
        assert answer(await ask(adapter, "fine", **again)) == "fine after cats, dogs, owls"


async def test_a_flow_with_its_own_store_keeps_it(url, tmp_path):
    store = SQLiteFlowPersistence(str(tmp_path / "flows.db"))

    @persist(store)
    class Own(Silent):
        @start()
        def note(self):
            self.state.said.append(self.state.message)
            return ", ".join(self.state.said)

    async with process(url, Own) as adapter:
        await ask(adapter, "cats")
    assert answer(await ask(adapt(Own), "dogs")) == "cats, dogs"
