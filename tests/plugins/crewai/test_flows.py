"""Flows: questions, results and restarts."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing

import pytest
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import CancelTaskRequest, TaskState
from a2a_adapters_crewai import FlowAdapter, adapt
from crewai.flow import Flow, HumanFeedbackPending, human_feedback, listen, start
from crewai.flow.persistence import SQLiteFlowPersistence
from pydantic import BaseModel

from a2a_adapters import (
    Data,
    File,
    InvalidInputError,
    Output,
    Rejected,
    ServerOptions,
    TargetError,
    Text,
    build_app,
)
from a2a_adapters.plugin import AnswerText
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.crewai.support import answer, ask, crew, question, request, run


class State(BaseModel):
    message: str = ""


class Silent(Flow[State]):
    suppress_flow_events: bool = True


class Review(Silent):
    """Drafts a text and asks for a review.

    Internal: uses the cheap model.
    """

    @start()
    @human_feedback(message="Good enough?")
    def draft(self):
        return f"about {self.state.message}"

    @listen(draft)
    @human_feedback(message="Really?")
    def improve(self, reviewed):
        return f"{reviewed.output}, {reviewed.feedback}"

    @listen(improve)
    def publish(self, reviewed):
        return f"{reviewed.output}, {reviewed.feedback}: {self.state.message}"


@pytest.fixture
def make(tmp_path):
    """Return a factory of flows that store themselves."""

    def make() -> Review:
        return Review(persistence=SQLiteFlowPersistence(str(tmp_path / "flows.db")))

    return make


async def test_questions_in_memory():
    async with aclosing(adapt(Review).stream(request("cats"))) as events:
        first = await question(events)
        assert first.prompt == "Good enough?\n\nabout cats"
        assert first.parts[0].value == {"method": "draft", "draft": "about cats", "outcomes": None}
        assert not first.durable
        second = await events.asend(request("shorter"))
        assert second.prompt == "Really?\n\nabout cats, shorter"
        assert answer([await events.asend(request("yes"))]) == "about cats, shorter, yes: cats"


PICTURE = File(content=b"cat", media_type="image/png", filename="cat.png")


@pytest.mark.parametrize("draft", [PICTURE, [Text("Look:"), PICTURE]])
async def test_files_of_a_draft_are_sent_with_the_question(draft):
    class Drawing(Silent):
        @start()
        @human_feedback(message="Good enough?")
        def draw(self):
            return draft

        @listen(draw)
        def publish(self, reviewed):
            return f"Published, {reviewed.feedback}."

    async with aclosing(adapt(Drawing).stream(request("a cat"))) as events:
        asked = await question(events)
        assert asked.prompt.endswith("(A file: cat.png)")
        assert asked.parts[1:] == (PICTURE,)
        assert answer([await events.asend(request("yes"))]) == "Published, yes."


async def test_stored_questions(make):
    first = (await ask(adapt(make), "cats"))[-1]
    assert first.durable
    again = {"resuming": True, "resume_metadata": first.metadata}
    second = (await ask(adapt(make), "shorter", **again))[-1]  # simulates another process
    again = {"resuming": True, "resume_metadata": second.metadata}
    third = await ask(adapt(make), "yes", **again)
    assert answer(third) == "about cats, shorter, yes: cats"


async def test_a_question_is_answered_after_a_restart(make):
    options = ServerOptions(task_store=InMemoryTaskStore())
    async with running(build_app(adapt(make), options=options)) as url, connect(url) as client:
        waiting = await asyncio.gather(*(send(client, user_message(t)) for t in ("cats", "dogs")))
    async with running(build_app(adapt(make), options=options)) as url, connect(url) as client:
        answers = [user_message("fine", task_id=t.id) for t in waiting]
        again = await asyncio.gather(*(send(client, message) for message in answers))
        assert {t.status.state for t in again} == {TaskState.TASK_STATE_INPUT_REQUIRED}
        answers = [user_message("yes", task_id=t.id) for t in waiting]
        done = await asyncio.gather(*(send(client, message) for message in answers))
    assert [answer_of(t) for t in done] == [
        "about cats, fine, yes: cats",
        "about dogs, fine, yes: dogs",
    ]


async def test_a_cancelled_question_is_deleted(make):
    async with running(build_app(adapt(make))) as url, connect(url) as client:
        waiting = await send(client, user_message("cats"))
        flow_id = waiting.status.message.metadata["flow_id"]
        assert make().persistence.load_pending_feedback(flow_id)
        await client.cancel_task(CancelTaskRequest(id=waiting.id))
    assert make().persistence.load_pending_feedback(flow_id) is None
    late = request("fine", resuming=True, resume_metadata={"flow_id": flow_id})
    assert isinstance((await run(adapt(make), late))[0], Rejected)


class Ticket:
    """A custom provider, which suspends the flow."""

    def request_feedback(self, context, flow):
        raise HumanFeedbackPending(context=context)


async def test_a_custom_provider_of_human_input_is_kept():
    class Own(Silent):
        @start()
        @human_feedback(message="Good?", provider=Ticket())
        def draft(self):
            return {"text": "draft"}

    asked = (await ask(adapt(Own), "cats"))[-1]
    assert (asked.prompt, asked.durable) == ('Good?\n\n{"text":"draft"}', True)
    events = await ask(adapt(Own), "yes", resuming=True, resume_metadata=asked.metadata)
    assert events[0].parts == (Data({"text": "draft"}),)


class Asking(Silent):
    @start()
    def ask_back(self):
        return f"so {self.ask('Which city?', metadata={'options': ['Rome']})}"


async def test_flow_ask_waits_in_a_thread():
    adapter = adapt(Asking)
    runs = [adapter.stream(request("hi")) for _ in range(20)]
    asked = [await question(events) for events in runs]
    assert {asking.prompt for asking in asked} == {"Which city?"}
    assert asked[0].parts == (Data({"options": ["Rome"]}),)
    for number, events in enumerate(runs):
        assert answer([await events.asend(request(f"city {number}"))]) == f"so city {number}"
        await events.aclose()
    await adapter.aclose()


def test_a_blocking_question_is_refused_when_the_flow_is_served():
    class Blocking(Silent):
        @start()
        async def ask_back(self):
            return self.ask("Which city?")

    with pytest.raises(TargetError, match=r"Blocking\.ask_back is async"):
        adapt(Blocking)


async def test_a_question_in_a_thread_does_not_block_others():
    class Outside(Silent):
        @start()
        async def ask_back(self):
            def again():
                return self.ask("Really?")

            city = await asyncio.to_thread(self.ask, "Which city?")
            return [city, await asyncio.to_thread(again)]

    async with aclosing(adapt(Outside).stream(request("hi"))) as events:
        assert (await question(events)).prompt == "Which city?"
        assert (await events.asend(request("Rome"))).prompt == "Really?"
        assert (await events.asend(request("yes"))).parts == (Data(["Rome", "yes"]),)


async def test_a_hidden_blocking_question_fails_the_run():
    class Hidden(Silent):
        @start()
        async def ask_back(self):
            return self.find_out()

        def find_out(self):
            return self.ask("Which city?")

    with pytest.raises(TargetError, match="not async"):
        await ask(adapt(Hidden), "hi")


async def test_more_questions_than_threads_are_refused(caplog):
    adapter = adapt(Asking, max_asking=3)
    runs = [adapter.stream(request("hi")) for _ in range(3)]
    for events in runs:
        await question(events)
    with pytest.raises(InvalidInputError, match="try again later"):
        await ask(adapter, "hi")
    assert "adapt(..., max_asking=...) raises it" in caplog.text
    assert answer([await runs[0].asend(request("Rome"))]) == "so Rome"
    await runs[0].aclose()
    async with aclosing(adapter.stream(request("hi"))) as events:
        assert (await question(events)).prompt == "Which city?"
    for events in runs[1:]:
        await events.aclose()
    await adapter.aclose()


async def test_a_crew_inside_can_have_its_draft_reviewed():
    class Outer(Silent):
        @start()
        def write(self):
            return crew(human_input=True).kickoff(inputs={"topic": self.state.message})

    async with aclosing(adapt(Outer).stream(request("cats"))) as events:
        assert (await question(events)).prompt.startswith("cats\n\n")
        assert answer([await events.asend(request("ok"))]) == "cats"


class Trip(BaseModel):
    city: str
    days: tuple[int, ...] = (1, 2)


def _parts(events):
    texts = [Text(event.text) for event in events if isinstance(event, AnswerText)]
    outputs = [event for event in events if isinstance(event, Output)]
    return [*texts, *(part for output in outputs for part in output.parts)]


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("text", [Text("text")]),
        ("", None),
        (None, None),
        ([1, "a"], [Data([1, "a"])]),
        (Trip(city="Rome"), [Data(Trip(city="Rome"), schema=Trip.model_json_schema())]),
        (Text("made by hand"), [Text("made by hand")]),
    ],
)
async def test_results_of_flows(value, parts):
    class Returning(Silent):
        @start()
        def give(self):
            return value

    events = await ask(adapt(Returning), "hi")
    assert _parts(events) == (parts or [])


async def test_each_run_has_its_own_flow():
    barrier = threading.Barrier(8, timeout=60)

    class Slow(Silent):
        @start()
        def first(self):
            barrier.wait()

        @listen(first)
        async def second(self):
            return self.state.message

    def make() -> Slow:
        return Slow()

    for target in (Slow, Slow(), Slow(name="named"), make):
        adapter = adapt(target)
        texts = [f"text {n}" for n in range(8)]
        runs = await asyncio.gather(*(ask(adapter, text) for text in texts))
        assert [answer(events) for events in runs] == texts
        await adapter.aclose()


class Listing(Flow):
    suppress_flow_events: bool = True
    initial_state: dict = {"said": []}  # noqa: RUF012 - as users write it

    @start()
    def note(self):
        self.state["said"].append(self.state["message"])
        return self.state["said"]


@pytest.mark.parametrize("target", [Listing, Listing(), Listing(initial_state={"said": []})])
async def test_initial_states_are_isolated(target):
    adapter = adapt(target)
    for text in ("one", "two"):
        (output, *_) = await ask(adapter, text)
        assert output.parts[0].value == [text]


async def test_objects_kept_between_runs_stay_in_one_event_loop():
    loops = set()

    class Async(Silent):
        @start()
        async def note(self):
            loops.add(asyncio.get_running_loop())

    adapter = adapt(Async)
    await ask(adapter, "one")
    await ask(adapter, "two")
    assert len(loops) == 1
    assert asyncio.get_running_loop() not in loops


async def test_a_cancel_ends_the_flow_at_once():
    started, ended = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    seen = []

    class Endless(Silent):
        @start()
        async def wait(self):
            loop.call_soon_threadsafe(started.set)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                seen.append("cancelled")
                ended.set()
                raise

        @listen(wait)
        def never(self):
            seen.append("never")

    adapter = adapt(Endless)
    running_task = asyncio.create_task(ask(adapter, "hi"))
    await started.wait()
    running_task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running_task
    await adapter.aclose()
    await asyncio.to_thread(ended.wait, 10)
    assert seen == ["cancelled"]


def test_a_flow_that_cannot_be_recreated_is_refused():
    class Configured(Silent):
        def __init__(self, setting):
            super().__init__()

    with pytest.raises(TargetError, match=r"def make_flow\(\) -> Configured"):
        FlowAdapter(Configured("x"))
    assert FlowAdapter(lambda: Configured("x")).describe().name == "Configured"


@pytest.mark.parametrize("name", ["kickoff", "akickoff"])
def test_a_flow_whose_check_would_not_run_is_refused(name):
    def checked(self, inputs=None, **_given):
        raise AssertionError

    with pytest.raises(TargetError, match=f"overrides {name}, which the server does not call"):
        adapt(type("Checked", (Silent,), {name: checked}))
    both = {name: checked, "kickoff_async": Silent.kickoff_async}
    assert adapt(type("CheckedTwice", (Silent,), both))


def test_options_of_crews_are_refused():
    with pytest.raises(TargetError, match="shared_memory is for crews"):
        adapt(Review, shared_memory=True)


class Reviewed(Flow):
    async def kickoff_async(self, *args, **kwargs):
        return await super().kickoff_async(*args, **kwargs)

    @start()
    @human_feedback("Fine?")
    def draft(self):
        return "a draft"


class ReviewedOften(Reviewed):
    async def resume_async(self, *args, **kwargs):
        return await super().resume_async(*args, **kwargs)


def test_a_flow_that_overrides_only_one_of_the_methods_that_run_it_is_refused():
    with pytest.raises(TargetError, match="overrides kickoff_async, and asks for"):
        adapt(Reviewed)
    assert isinstance(adapt(ReviewedOften), FlowAdapter)
