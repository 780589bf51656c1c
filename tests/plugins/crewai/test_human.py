"""Tasks with `human_input` and flows with `human_feedback`: the caller reviews the draft."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest
from a2a.types import CancelTaskRequest, GetTaskRequest, TaskState
from a2a_adapters_crewai import adapt
from crewai import Crew, Process
from crewai.flow import Flow, human_feedback, listen, start
from crewai.flow.persistence import SQLiteFlowPersistence

from a2a_adapters import Data, InputRequired, Limits, ServerOptions, build_app
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.crewai.support import (
    Scripted,
    agent,
    answer,
    ask,
    crew,
    gates,
    question,
    request,
    task,
    value_of,
)
from tests.plugins.sql.conftest import new_url
from tests.plugins.sql.test_durable import asked, caller
from tests.plugins.sql.test_resume import reason
from tests.support.processes import launched
from tests.support.warm import warm


def reviewed(*script):
    return crew(*script, human_input=True, name="draft")


def revised(prompt):
    """Answer with the last feedback in the prompt, or the topic."""
    _, has_feedback, feedback = prompt.rpartition("User feedback: ")
    if has_feedback:
        return f"Final Answer: now {feedback.splitlines()[0]}"
    return value_of("topic")(prompt)


async def test_a_draft_is_shown_until_it_is_accepted():
    async with aclosing(adapt(reviewed(revised)).stream(request("cats"))) as events:
        first = await question(events)
        assert first.prompt.startswith("cats\n\n")
        assert first.parts == (Data({"task": "draft", "agent": "Writer", "draft": "cats"}),)
        assert not first.durable
        second = await events.asend(request("shorter"))
        assert second.prompt.startswith("now shorter\n\n")
        third = await events.asend(request(Data({"tone": "dry"})))
        assert third.prompt.startswith('now {"tone":"dry"}\n\n')
        last = await events.asend(request("OK!"))
        rest = [last, *[event async for event in events]]
    assert answer(rest) == 'now {"tone":"dry"}'


async def test_a_draft_is_shown_without_reasoning():
    adapter = adapt(reviewed("<think>hm</think>\ncats purr"))
    async with aclosing(adapter.stream(request("cats"))) as events:
        asked = await question(events)
    assert asked.prompt.startswith("cats purr\n\n")
    assert "hm" not in str(asked)


@pytest.mark.parametrize("yes", ["ok", "Yes", "accept.", "LGTM", "confirm", ""])
async def test_accepting_replies(yes):
    model = Scripted("Final Answer: draft")
    writer = agent(model)
    target = Crew(agents=[writer], tasks=[task(writer, human_input=True)])
    async with aclosing(adapt(target).stream(request("cats"))) as events:
        await question(events)
        rest = [await events.asend(request(yes)), *[event async for event in events]]
    assert answer(rest) == "draft"
    assert len(model.seen) == 1


async def test_two_callers_wait_at_once_and_their_tasks_continue():
    async with running(build_app(reviewed(revised))) as url, connect(url) as client:
        topics = ["cats", "dogs"]
        waiting = await asyncio.gather(*(send(client, user_message(t)) for t in topics))
        assert {t.status.state for t in waiting} == {TaskState.TASK_STATE_INPUT_REQUIRED}
        assert [t.status.message.parts[0].text[:4] for t in waiting] == topics
        changes = [user_message(f"less {n}", task_id=t.id) for n, t in enumerate(waiting)]
        again = await asyncio.gather(*(send(client, change) for change in changes))
        assert [t.status.message.parts[0].text[:10] for t in again] == ["now less 0", "now less 1"]
        oks = [user_message("ok", task_id=t.id) for t in waiting]
        done = await asyncio.gather(*(send(client, ok) for ok in oks))
        assert [t.id for t in done] == [t.id for t in waiting]
        assert [answer_of(t) for t in done] == ["now less 0", "now less 1"]


async def test_waiting_runs_do_not_count_as_running():
    adapter = adapt(reviewed(revised), max_runs=1)
    asking = [adapter.stream(request(topic)) for topic in ("cats", "dogs", "owls")]
    drafts = [(await question(events)).prompt.split("\n")[0] for events in asking]
    assert drafts == ["cats", "dogs", "owls"]
    for events, draft in zip(asking, drafts, strict=True):
        assert answer([await events.asend(request("ok"))]) == draft
        await events.aclose()


async def test_concurrent_tasks_ask_one_at_a_time():
    one, two = agent(Scripted("Final Answer: one")), agent(Scripted("Final Answer: two"))
    writer = agent(Scripted("Final Answer: end"))
    tasks = [
        task(one, name="one", human_input=True, async_execution=True),
        task(two, name="two", human_input=True, async_execution=True),
        task(writer, name="end"),
    ]
    target = Crew(agents=[one, two, writer], tasks=tasks)
    async with aclosing(adapt(target).stream(request("cats"))) as events:
        asked = {(await question(events)).parts[0].value["task"]}
        second = await events.asend(request("ok"))
        asked.add(second.parts[0].value["task"])
        assert asked == {"one", "two"}
        assert answer([await events.asend(request("ok"))]) == "end"


async def test_a_waiting_run_fails_after_its_time_limit():
    limits = ServerOptions(limits=Limits(input_seconds=0.3))
    async with running(build_app(reviewed(revised), options=limits)) as url, connect(url) as client:
        waiting = await send(client, user_message("cats"))
        while waiting.status.state == TaskState.TASK_STATE_INPUT_REQUIRED:
            waiting = await client.get_task(GetTaskRequest(id=waiting.id))
        assert waiting.status.state == TaskState.TASK_STATE_FAILED


async def test_a_cancelled_question_ends_the_run():
    model = Scripted(revised, **gates())
    model.gate.set()
    writer = agent(model)
    target = Crew(agents=[writer], tasks=[task(writer, human_input=True), task(writer)])
    async with running(build_app(target)) as url, connect(url) as client:
        waiting = await send(client, user_message("cats"))
        cancelled = await client.cancel_task(CancelTaskRequest(id=waiting.id))
        assert cancelled.status.state == TaskState.TASK_STATE_CANCELED
    assert len(model.seen) == 1


async def test_the_work_of_a_manager_can_be_reviewed():
    manager = Scripted("Final Answer: managed")
    writer = agent(Scripted("Final Answer: written"))
    target = Crew(
        agents=[writer],
        tasks=[task(writer, human_input=True)],
        process=Process.hierarchical,
        manager_llm=manager,
    )
    async with aclosing(adapt(target).stream(request("cats"))) as events:
        assert isinstance(await question(events), InputRequired)
        assert answer([await events.asend(request("ok"))]) == "managed"


def judge(prompt):
    """Return the outcome of feedback that is in somebody's own words."""
    if "fine" in prompt:
        return "approved"
    raise ConnectionError("no model")


class Routed(Flow):
    """Drafts a text, and publishes or improves it."""

    suppress_flow_events: bool = True

    @start()
    @human_feedback("Publish?", emit=["approved", "needs_work"], llm=Scripted(judge))
    def draft(self):
        return "a draft"

    @listen("approved")
    def publish(self, review):
        return f"published: {review.feedback}"

    @listen("needs_work")
    def improve(self, review):
        return f"improved: {review.feedback}"


@pytest.fixture(params=[False, True], ids=["memory", "stored"])
def is_stored(request):
    return request.param


@pytest.fixture
def replying(is_stored, tmp_path):
    """Return a function that runs a flow with replies; it returns the questions and last event."""
    store = SQLiteFlowPersistence(str(tmp_path / "flows.db")) if is_stored else None
    adapter = adapt(lambda: Routed(persistence=store))

    async def reply(*texts):
        async with aclosing(adapter.stream(request("cats"))) as events:
            questions = [await question(events)]
            if not questions[0].durable:
                return questions + [await events.asend(request(text)) for text in texts]
        for text in texts:
            known = {"resuming": True, "resume_metadata": questions[-1].metadata}
            questions.append((await ask(adapter, text, **known))[0])
        return questions

    return reply


@pytest.mark.parametrize(
    ("said", "result"),
    [
        ("approved", "published: approved"),
        ("Approved!", "published: Approved!"),
        ("needs work.", "improved: needs work."),
    ],
)
async def test_an_outcome_given_by_name_needs_no_model(replying, said, result):
    asked, done = await replying(said)
    assert asked.prompt == (
        "Publish?\n\na draft\n\nReply with approved or needs_work, or in your own words."
    )
    assert answer([done]) == result


async def test_a_model_of_your_own_finds_the_outcome(replying):
    _, done = await replying("looks fine to me")
    assert answer([done]) == "published: looks fine to me"


async def test_a_model_that_fails_leaves_the_question_open(replying):
    asked, again, done = await replying("well, more or less", "approved")
    hint = "The answer was not understood. Reply with approved or needs_work."
    assert again == replace(asked, prompt=f"{hint}\n\n{asked.prompt}")
    assert answer([done]) == "published: approved"


@pytest.mark.timeout(300)
async def test_a_review_held_in_memory_fails_with_its_process(tmp_path):
    module = "tests.plugins.crewai.served_human"
    command = warm("-m", module, new_url("sqlite", tmp_path))
    with launched(command) as (process, url):
        async with caller(url, "crew") as http:
            waiting = await http.send("cats", wait=True)
            assert asked(waiting).startswith("a draft")
            process.kill()
    with launched(command) as (_, url):
        async with caller(url, "crew") as http:
            ended = await http.ended(waiting["id"])
            again = await http.send("cats", wait=True)
    assert ended["status"]["state"] == "TASK_STATE_FAILED"
    assert "no longer waits for an answer" in reason(ended)
    assert asked(again).startswith("a draft")
