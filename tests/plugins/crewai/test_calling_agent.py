"""A remote agent as a member of a crew."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import aclosing

import pytest
from a2a_adapters_crewai import A2AAgent, adapt
from crewai import Crew, Process, Task
from pydantic import BaseModel

from a2a_adapters import Progress, RemoteAgent, RemoteTaskError, build_app
from a2a_adapters.testing import running
from tests.plugins.crewai.calling import desk
from tests.plugins.crewai.support import (
    Scripted,
    agent,
    answer,
    ask,
    observed,
    question,
    request,
    tool_call,
)
from tests.support.servers.told import FORMS, Told


class Book(BaseModel):
    title: str
    pages: int


def task(member, description="{topic}", **fields):
    return Task(description=description, expected_output="o", agent=member, **fields)


def member_of(remote, **fields):
    return A2AAgent(agent=remote, role="Desk", goal="Book trips", **fields)


async def kickoff(crew, how, **inputs):
    if how == "sync":
        return await asyncio.to_thread(crew.kickoff, inputs)
    return await crew.akickoff(inputs)


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_tasks_include_the_context_of_earlier_ones(how):
    async with desk() as (there, remote):
        member = member_of(remote)
        local = agent(Scripted(lambda prompt: f"Final Answer: local saw {'heard' in prompt}"))
        tasks = [task(member, "one {topic}"), task(local, "two"), task(member, "three")]
        result = await kickoff(Crew(agents=[member, local], tasks=tasks), how, topic="cats")
    assert [output.raw.split(" ")[0] for output in result.tasks_output] == [
        "heard",
        "local",
        "heard",
    ]
    assert there.texts[0].startswith("one cats")
    assert "This is the context you're working with:\n" in there.texts[1]
    assert "local saw True" in there.texts[1]
    assert there.received[0].context_id != there.received[1].context_id
    assert len(member.replies) == 2
    assert result.token_usage.total_tokens == 22


async def test_it_is_named_by_its_card():
    async with desk() as (_, remote):
        member = await asyncio.to_thread(A2AAgent.from_url, remote)
        assert (member.role, member.goal, member.llm) == ("Travel desk", "Books trips.", None)
        other = await asyncio.to_thread(A2AAgent.from_url, remote, role="Other", goal="x")
        assert (other.role, other.goal) == ("Other", "x")


@pytest.mark.parametrize("field", ["output_pydantic", "output_json"])
async def test_data_is_preserved(field):
    async with desk() as (_, remote):
        member = member_of(remote)
        crew = Crew(agents=[member], tasks=[task(member, "data", **{field: Book})])
        result = await crew.akickoff()
        book = {"title": "Moby", "pages": 3}
        assert result.to_dict() == book
        plain = await Crew(agents=[member], tasks=[task(member, "data")]).akickoff()
        assert json.loads(plain.raw) == book


async def test_files_are_preserved():
    async with desk() as (_, remote):
        member = member_of(remote)
        result = await Crew(agents=[member], tasks=[task(member, "file")]).akickoff()
    assert result.raw == "here\n(A file: map.png)"
    assert member.replies[0].files[0].content == b"x"


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_a_failure_is_raised_and_not_retried(how):
    async with desk() as (there, remote):
        member = member_of(remote)
        with pytest.raises(RemoteTaskError) as failure:
            await kickoff(Crew(agents=[member], tasks=[task(member, "fail")]), how)
    assert len(there.received) == 1
    assert "hunter2" not in str(failure.value)


async def test_a_manager_delegates_to_it_and_answers_its_question():
    def manage(prompt):
        results = observed(prompt)
        if len(results) < 2:
            words = ("book it", "Rome")[len(results)]
            arguments = {"task": words, "context": "none", "coworker": "Desk"}
            return tool_call("delegate_work_to_coworker", json.dumps(arguments))
        return f"Final Answer: {results[-1]}"

    async with desk() as (there, remote):
        member = member_of(remote)
        crew = Crew(
            agents=[member],
            tasks=[Task(description="a trip", expected_output="o")],
            process=Process.hierarchical,
            manager_llm=Scripted(manage),
        )
        result = await crew.akickoff()
    assert result.raw.startswith("Booked Rome")
    assert len(there.received) == 1  # the answer continued the same task


async def test_a_served_crew_sends_the_question_to_its_caller():
    async with desk() as (there, remote):
        member = member_of(remote)
        adapter = adapt(Crew(agents=[member], tasks=[task(member, "book {topic}")]))
        runs = [adapter.stream(request("a trip")) for _ in range(4)]
        asked = [await question(events) for events in runs]
        assert {one.prompt for one in asked} == {"Which city?"}
        for number, events in enumerate(runs):
            assert answer([await events.asend(request(f"city {number}"))]) == (
                f"Booked city {number}."
            )
            await events.aclose()
        await adapter.aclose()
    assert len(there.received) == 4


@pytest.mark.parametrize("form", FORMS)
async def test_the_answer_to_a_question_is_that_of_the_task(form):
    async with (
        Told(FORMS[form]).app("JSONRPC", "1.0") as app,
        running(app) as url,
        RemoteAgent(url) as remote,
    ):
        member = member_of(remote)
        adapter = adapt(Crew(agents=[member], tasks=[task(member)]))
        async with aclosing(adapter.stream(request("book"))) as events:
            assert (await question(events)).prompt == "Which city?"
            assert answer([await events.asend(request("Rome"))]) == "booked"
        await adapter.aclose()


async def test_a_question_is_cancelled_with_the_task_that_asks_it():
    server = Told([])
    async with (
        server.app("JSONRPC", "1.0") as app,
        running(app) as url,
        RemoteAgent(url) as remote,
    ):
        member = member_of(remote)
        crew = Crew(agents=[member], tasks=[task(member)])
        async with running(build_app(crew)) as here, RemoteAgent(here) as caller:
            asked = await caller.send("book")
            await caller.cancel(asked.task_id)
            assert await server.cancelled.get() == "t"


async def test_outside_of_a_server_a_question_is_the_output():
    async with desk() as (_, remote):
        member = member_of(remote)
        tasks = [task(member, "book"), task(member, "hello")]
        result = await Crew(agents=[member], tasks=tasks).akickoff()
    assert [output.raw.split(" ")[0] for output in result.tasks_output] == ["Which", "heard"]


async def test_its_answer_can_be_reviewed():
    async with desk() as (there, remote):
        member = member_of(remote)
        target = Crew(agents=[member], tasks=[task(member, "hello {topic}", human_input=True)])
        async with aclosing(adapt(target).stream(request("cats"))) as events:
            first = await question(events)
            assert first.parts[0].value["agent"] == "Desk"
            assert (await events.asend(request("shorter"))).prompt.startswith("heard shorter")
            assert answer([await events.asend(request("ok"))]).strip() == "heard shorter"
    assert there.received[0].context_id == there.received[1].context_id


async def test_each_kickoff_starts_new_conversations():
    async with desk() as (there, remote):
        member = member_of(remote)
        crew = Crew(agents=[member], tasks=[task(member, "hello")])
        await crew.akickoff()
        await crew.akickoff()
        assert len(member.replies) == 1
    assert there.received[0].context_id != there.received[1].context_id


async def test_its_tasks_are_reported_like_those_of_other_agents():
    async with desk() as (_, remote):
        member = member_of(remote)
        target = Crew(agents=[member], tasks=[task(member, name="asking")])
        events = await ask(adapt(target), "cats", wants_progress=True)
    assert [event.text for event in events if isinstance(event, Progress)] == [
        "started: asking",
        "working: Desk",
        "finished: asking",
    ]


class Hanging(RemoteAgent):
    """A remote agent that never answers, and records when its caller has left."""

    def __init__(self):
        super().__init__("http://127.0.0.1:9")
        self.begun, self.left = threading.Event(), threading.Event()

    def conversation(self, key=None, *, context_id=""):
        return self

    async def send(self, message, **_):
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left.set()


async def test_cancelling_a_crew_closes_the_remote_stream():
    remote = Hanging()
    member = member_of(remote)
    adapter = adapt(Crew(agents=[member], tasks=[task(member)]))
    running = asyncio.create_task(ask(adapter, "cats"))
    assert await asyncio.to_thread(remote.begun.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.to_thread(remote.left.wait, 10)
    await adapter.aclose()
