"""A graph's process is killed; the next one resumes from the last checkpoint."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections import Counter

import pytest
from a2a_adapters_langchain.serving.graph import GraphAdapter
from a2a_adapters_langchain.serving.recovery import RunStart
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import PregelTask

from a2a_adapters.testing import ResumeContract
from tests.plugins.sql.conftest import new_url
from tests.plugins.sql.test_resume import Caller, texts
from tests.support.processes import launched
from tests.support.warm import warm

SERVED = "tests.plugins.langchain.served_resume"

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]


@pytest.fixture(params=["sqlite", "postgresql"])
def command(request, tmp_path):
    return warm("-m", SERVED, new_url(request.param, tmp_path), str(tmp_path))


def log(tmp_path):
    return (tmp_path / "log").read_text().splitlines()


class TestContract(ResumeContract):
    def command(self, storage, work):
        return warm("-m", SERVED, storage, str(work), "contract")


async def test_finished_nodes_do_not_run_again_and_the_answer_is_complete(command, tmp_path):
    with launched(command) as (process, url):
        async with Caller(url) as ann, Caller(url) as bob:
            of_ann = await ann.send("go")
            of_bob = await bob.send("go", context="another")
            for task in (of_ann, of_bob):
                await ann.until(task["id"], lambda task: texts(task) == ["The first.\n\nThe s"])
            await ann.call("ListTasks", {})
            process.kill()
    with launched(command) as (_, url):
        async with Caller(url) as ann:
            (tmp_path / "go").touch()
            done = [await ann.ended(task["id"]) for task in (of_ann, of_bob)]
            again = await ann.send("go", wait=True)
    for task in (*done, again):
        assert task["status"]["state"] == "TASK_STATE_COMPLETED"
        assert texts(task) == ["The first.\n\nThe second.\n\nThe third."]
        assert task["metadata"]["usage"]["output_tokens"] == len("The first.The second.The third.")
        assert task["metadata"]["usage"]["input_tokens"] == 3
    assert Counter(log(tmp_path)) == {"one": 3, "two": 5, "three": 3}


async def test_replies_are_applied_once(command, tmp_path):
    with launched(command) as (process, url):
        async with Caller(url) as ann:
            first = await ann.send("ask", wait=True)
            second = await ann.send("twice", task=first["id"], wait=True)
            assert second["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
            await ann.send("yes", task=first["id"])
            while "halt" not in log(tmp_path):  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.05)
            process.kill()
    (tmp_path / "go").touch()
    with launched(command) as (_, url):
        async with Caller(url) as ann:
            done = await ann.ended(first["id"])
    assert texts(done) == ["The third."]
    counts = Counter(log(tmp_path))
    assert counts["second answer yes"] == 1
    assert counts["halt"] == 2
    assert counts["three"] == 1


async def test_the_next_process_resumes_a_question(command, tmp_path):
    (tmp_path / "go").touch()
    with launched(command) as (process, url):
        async with Caller(url) as ann:
            asked = await ann.send("ask", wait=True)
            process.kill()
    with launched(command) as (_, url):
        async with Caller(url) as ann:
            done = await ann.send("this", task=asked["id"], wait=True)
    assert texts(done) == ["The third."]
    assert log(tmp_path) == ["first answer this", "halt", "three"]


def finished(*results):
    tasks = [
        PregelTask(id=str(number), name="node", path=(), result=result)
        for number, result in enumerate(results)
    ]
    return RunStart(None, {}, {}, tasks)


def by_model(text):
    return {"messages": [AIMessage(text, id="lc_run--1")]}


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ("One.\n\nTwo.\n\nThr", ["One.", "Two."]),
        ("One.\n\nTw", ["One.", "Two."]),
        ("", ["One.", "Two."]),
        ("aside\n\nOne.\n\nTwo.", ["aside", "One.", "Two."]),
    ],
)
def test_unstored_text_of_finished_nodes_comes_from_the_thread(stored, said):
    run = finished(by_model("One."), {"messages": [AIMessage("not streamed")]}, by_model("Two."))
    assert run.texts(stored, lambda _: True) == said
    assert run.texts(stored, lambda _: False) == []


def test_only_durable_threads_are_resumed():
    builder = StateGraph(MessagesState)
    builder.add_node("node", lambda _: {})
    builder.add_edge(START, "node")
    for saver in (None, False, InMemorySaver()):
        assert not GraphAdapter(builder.compile(checkpointer=saver)).resumes
    with_saver = builder.compile(checkpointer=AsyncSqliteSaver.__new__(AsyncSqliteSaver))
    assert GraphAdapter(with_saver).resumes


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("graph", "engine", "moments"),
    [
        ("branches", "sqlite", ["before", "after"]),
        ("questions", "sqlite", ["before", "after"]),
        ("questions", "postgresql", ["after"]),
        ("pictures", "sqlite", ["before", "after"]),
        *((graph, "sqlite", ["after"]) for graph in ("breakpoints", "workflow", "agent")),
    ],
)
def test_answers_equal_those_of_runs_without_crashes(graph, engine, moments, tmp_path):
    arguments = [graph, engine, new_url(engine, tmp_path), *moments]
    command = warm("-m", "tests.plugins.langchain.dying", *arguments)
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    unharmed, *died = map(json.loads, process.stdout.splitlines())
    _, (state, answer), done = unharmed
    assert state == "TASK_STATE_COMPLETED"
    wrong = [line for line in died if line[1] != [state, answer]]
    assert not wrong, f"{len(wrong)} of {len(died)}, not as {answer!r}"
    # Only unfinished nodes run again.
    for name, _, counted in died:
        assert counted.keys() == done.keys(), name
        assert all(done[node] <= n <= 2 * done[node] for node, n in counted.items()), name


@pytest.mark.timeout(600)
def test_crashes_before_the_first_node_do_not_fail_the_task(tmp_path):
    arguments = ["branches", "sqlite", new_url("sqlite", tmp_path)]
    command = warm("-m", "tests.plugins.langchain.dying", *arguments)
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    [_, (state, _), done] = json.loads(process.stdout)
    assert state == "TASK_STATE_COMPLETED"
    assert done["plan"] == 1
