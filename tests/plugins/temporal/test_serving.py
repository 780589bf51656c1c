"""What workflows of Temporal get, send and call, and what cannot be served."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from uuid import uuid4

import pytest
from a2a.types import CancelTaskRequest, TaskState
from a2a_adapters_files import LocalFile
from a2a_adapters_temporal import TemporalWorkflow
from pydantic_ai import Agent
from pydantic_ai.durable_exec.temporal import TemporalDurability
from pydantic_ai.models.test import TestModel
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError
from temporalio.contrib.opentelemetry import TracingInterceptor

from a2a_adapters import (
    Data,
    File,
    RemoteAgent,
    RemoteRefusedError,
    ServerOptions,
    TargetError,
    Text,
    build_app,
)
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.files.support import app, content_of, stored
from tests.plugins.sql.test_resume import Caller, texts
from tests.plugins.temporal import support
from tests.support.processes import launched
from tests.support.warm import warm

pytestmark = pytest.mark.filterwarnings("ignore:.*TMPRL1102.*stream_poll")


def served(temporal, kind):
    return build_app(TemporalWorkflow(temporal, kind.run, task_queue=support.QUEUE))


async def test_a_message_sets_the_arguments(temporal):
    async with running(served(temporal, support.Typed)) as url:
        reply = await RemoteAgent(url).send(Data({"city": "Rome", "days": 3}))
        assert reply.data == [["Rome", 3]]
        reply = await RemoteAgent(url).send(Data({"city": "Rome"}))
        assert reply.data == [["Rome", 1]]


async def test_a_workflow_gets_the_whole_message(temporal):
    async with running(served(temporal, support.Whole)) as url, connect(url, user="ann") as ann:
        task = await send(ann, user_message("hello"))
    assert dict(task.artifacts[0].parts[0].data.struct_value) == {
        "text": "hello", "data": [], "owner": "ann",
    }  # fmt: skip


async def test_a_workflow_gets_small_files_and_links_to_large_ones(temporal, tmp_path):
    store = stored(tmp_path, agent_bytes=1000)
    whole = TemporalWorkflow(temporal, support.Files.run, task_queue=support.QUEUE)
    (tmp_path / "large").write_bytes(content_of(5000))
    async with running(app(whole, store, authenticated=False)) as url:
        small = File(content=b"x", filename="small")
        reply = await RemoteAgent(url).send([small, LocalFile(tmp_path / "large")])
    [files] = reply.data
    assert files["small"] == "x"
    linked = File(url=files["large"])
    assert b"".join([piece async for piece in store.read(linked)]) == content_of(5000)


async def test_files_that_do_not_fit_into_a_payload_are_refused(temporal):
    async with running(served(temporal, support.Files)) as url:
        with pytest.raises(RemoteRefusedError, match="up to 1 MiB together"):
            await RemoteAgent(url).send(File(content=bytes(2 << 20)))


async def test_the_text_of_a_failed_attempt_is_withdrawn(temporal):
    async with running(served(temporal, support.Retrying)) as url, connect(url) as client:
        task = await send(client, user_message("go"))
    assert answer_of(task) == "Begun. attempt 3. "


async def test_a_cancelled_question_ends_its_workflow(temporal):
    async with running(served(temporal, support.Asking)) as url, connect(url) as client:
        asked = await send(client, user_message("book"))
        await client.cancel_task(CancelTaskRequest(id=asked.id))
        handle = temporal.get_workflow_handle(asked.id)
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert (await handle.describe()).status == WorkflowExecutionStatus.CANCELED


async def test_a_workflow_that_is_terminated_fails_its_task(temporal):
    async with running(served(temporal, support.Endless)) as url, connect(url) as client:
        async for event in client.send_message(user_message("go")):
            if event.HasField("task"):
                task_id = event.task.id
                handle = temporal.get_workflow_handle(task_id)
                terminating = asyncio.ensure_future(support.terminated(handle))
        await terminating
    assert event.status_update.status.state == TaskState.TASK_STATE_FAILED


async def test_a_question_can_time_out(temporal):
    async with running(served(temporal, support.Impatient)) as url, connect(url) as client:
        asked = await send(client, user_message("book"))
        await temporal.get_workflow_handle(asked.id).result()
        done = await send(client, user_message("Rome", task_id=asked.id))
    assert answer_of(done) == "too late"


async def test_a_remote_agent_is_an_activity_whose_question_becomes_the_workflows(temporal):
    asking = served(temporal, support.Asking)
    async with running(asking) as remote, running(served(temporal, support.Travelling)) as url:
        support.REMOTE._agent = remote
        async with connect(url) as client:
            asked = await send(client, user_message("book"))
            done = await send(client, user_message("Rome", task_id=asked.id))
    assert asked.status.message.parts[0].text == "which city?"
    assert answer_of(done) == "to Rome"


async def test_a_failed_remote_task_is_not_repeated(temporal):
    calls = []

    async def failing(text: str) -> str:
        calls.append(text)
        raise RuntimeError(support.SECRET)

    async with (
        running(build_app(failing)) as remote,
        running(served(temporal, support.Travelling)) as url,
        connect(url) as client,
    ):
        support.REMOTE._agent = remote
        task = await send(client, user_message("go"))
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert calls == ["go"]


async def test_two_owners_never_share_a_workflow(temporal):
    adapter = TemporalWorkflow(temporal, support.Asking.run, task_queue=support.QUEUE)
    async with running(served(temporal, support.Asking)) as url, connect(url, user="ann") as ann:
        asked = await send(ann, user_message("book"))
        request = support.reply_of("bob", asked, Text("Rome"))
        [event] = [event async for event in adapter.stream(request)]
        assert "no longer open" in event.reason
        done = await send(ann, user_message("Paris", task_id=asked.id))
    assert answer_of(done) == "to Paris"


async def test_a_reply_to_a_workflow_that_was_deleted_is_rejected(temporal):
    adapter = TemporalWorkflow(temporal, support.Asking.run, task_queue=support.QUEUE)
    async with running(served(temporal, support.Asking)) as url, connect(url) as client:
        asked = await send(client, user_message("book"))
    deleted = replace(support.reply_of("", asked, Text("Rome")), task_id=uuid4().hex)
    [event] = [event async for event in adapter.stream(deleted)]
    assert "no longer open" in event.reason


@pytest.mark.parametrize("target", [support.Echo, support.Echo.run], ids=["class", "run"])
def test_a_workflow_alone_is_refused_with_the_way_to_serve_it(target):
    with pytest.raises(TargetError, match=re.escape("TemporalWorkflow(client, Echo.run")):
        build_app(target)


async def test_the_trace_continues_in_a_worker(address, spans):
    tracing = TracingInterceptor()
    client = await support.connected(address, interceptors=[tracing])
    echo = TemporalWorkflow(client, support.Echo.run, task_queue=support.QUEUE)
    app = build_app(echo, options=ServerOptions(trust_traces="all"))
    async with support.working(client), running(app) as url:
        await RemoteAgent(url).send("hello")
    traces = {span.name: span.context.trace_id for span in spans()}
    assert traces["RunWorkflow:Echo"] == traces["invoke_agent Echo"]


def test_a_durable_agent_is_refused_with_the_way_to_serve_it():
    agent = Agent(TestModel(), name="clerk", capabilities=[TemporalDurability()])
    with pytest.raises(TargetError, match="durable only inside a workflow"):
        build_app(agent)


@pytest.mark.parametrize(
    ("module", "is_model"),
    [("temporalio.google_adk._model", True), ("temporalio.strands_agents._temporal_agent", False)],
)
def test_the_classes_of_temporals_packages_are_recognised(module, is_model):
    """Stand-ins with the modules' names: the packages need frameworks of other environments."""
    part = type("Durable", (), {"__module__": module})()
    with pytest.raises(TargetError, match="durable only inside a workflow"):
        build_app(SimpleNamespace(name="clerk", model=part) if is_model else part)


SERVED = "tests.plugins.temporal.served"


@contextmanager
def worker(*arguments):
    process = subprocess.Popen([sys.executable, "-m", SERVED, "worker", *arguments])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.thorough
async def test_fronts_and_workers_are_killed_while_they_wait_and_work(address, tmp_path):
    storage = f"sqlite:///{tmp_path}/agents.db"

    def front():
        return launched(warm("-m", SERVED, "front", address, storage, str(tmp_path)))

    with worker(address, storage, str(tmp_path)), front() as (process, url):
        async with Caller(url) as caller:
            task = await caller.send("go", wait=True)  # it waits
        process.kill()
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    with worker(address, storage, str(tmp_path)), front() as (process, url):
        async with Caller(url) as caller:
            await caller.send("yes", task=task["id"])
            while not (tmp_path / "begun").exists():  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.05)
        process.kill()
    (tmp_path / "go").touch()
    with worker(address, storage, str(tmp_path)), front() as (_, url):
        async with Caller(url) as caller:
            done = await caller.ended(task["id"])
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert texts(done) == ["one two"]
    assert (tmp_path / "steps").read_text().split() == ["go"]
