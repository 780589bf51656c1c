"""What workflows of DBOS get, send and call, and what cannot be served."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from a2a.types import CancelTaskRequest, GetTaskRequest, TaskState
from a2a_adapters_dbos import (
    A2AStep,
    a2a_step,
    adapt,
    ask,
    ask_blocking,
    emit,
    emit_blocking,
)
from a2a_adapters_dbos.serving.adapter import _runs_here
from a2a_adapters_files import LocalFile
from dbos import DBOS, error
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.models.test import TestModel

from a2a_adapters import (
    AgentRequest,
    Data,
    File,
    InputRequired,
    Output,
    RemoteAgent,
    ServerOptions,
    TargetError,
    Text,
    build_app,
)
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.dbos import support
from tests.plugins.files.support import app, content_of, stored

QUEUE = "agents"


@pytest.fixture(scope="module", autouse=True)
def dbos(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('dbos')}/dbos.db"
    with support.launched(url, notification_listener_polling_interval_sec=0.05):
        DBOS.launch()
        DBOS.register_queue(QUEUE, polling_interval_sec=0.05)
        yield


@dataclass
class Trip:
    city: str
    days: int


@DBOS.workflow()
async def typed(city: str, days: int = 1) -> Trip:
    return Trip(city, days)


@DBOS.workflow()
async def whole(request: AgentRequest) -> str:
    return f"{request.owner} {DBOS.authenticated_user} {request.data} {request.metadata}"


STORE = {}


@DBOS.step()
async def size_of(file):
    return sum([len(piece) async for piece in STORE["files"].read(file)])


@DBOS.workflow()
async def measured(request: AgentRequest) -> str:
    return ", ".join(
        [
            f"{file.filename}: {await size_of(file)} bytes {'linked' if file.url else 'inside'}"
            for file in request.files
        ]
    )


@DBOS.workflow()
def blocking(text: str) -> str:
    emit_blocking("Well, ")
    return f"to {ask_blocking('which city?').text}"


@DBOS.step(retries_allowed=True, max_attempts=3, interval_seconds=0)
async def unsteady():
    await emit(f"attempt {DBOS.step_status.current_attempt}. ")
    if DBOS.step_status.current_attempt < 2:
        raise ConnectionError


@DBOS.workflow()
async def retrying(text: str) -> None:
    await emit("Begun. ")
    await unsteady()
    await emit(Output((Data({"done": True}),)))


@DBOS.step(preemptible=True)
async def waits_for_ever(noted):
    try:
        await asyncio.Event().wait()
    finally:
        NOTED[noted].set()


NOTED = {}


@DBOS.workflow()
async def long(text: str) -> None:
    await emit("begun")
    await waits_for_ever(text)


@DBOS.workflow()
async def held(text: str) -> None:
    NOTED["begun"].set()
    await NOTED[text].wait()


@DBOS.workflow()
async def impatient(text: str) -> str:
    try:
        return (await ask("which city?", timeout=0.05)).text
    except TimeoutError:
        return "too late"


@DBOS.workflow()
async def twice(text: str) -> str:
    """Ask two questions at once."""
    replies = await asyncio.gather(ask("one?"), ask(InputRequired("", (Text("two?"),))))
    return " ".join(reply.text for reply in replies)


REMOTE = {}


@DBOS.workflow()
async def travelling(text: str) -> str:
    return (await REMOTE["step"](text)).text


async def test_a_data_part_sets_the_arguments():
    async with running(build_app(typed)) as url:
        reply = await RemoteAgent(url).send(Data({"city": "Rome", "days": 3}))
        assert reply.data == [{"city": "Rome", "days": 3}]


async def test_a_workflow_gets_the_whole_request_and_its_caller():
    async with running(build_app(whole)) as url, connect(url, user="ann") as ann:
        task = await send(ann, user_message("hello"))
    assert answer_of(task) == "ann ann [] {}"


async def test_a_large_file_is_stored_as_a_link_that_steps_can_read(tmp_path):
    STORE["files"] = store = stored(tmp_path, agent_bytes=1000)
    async with running(app(measured, store, authenticated=False)) as url:
        small = File(content=b"x" * 100, filename="small")
        reply = await RemoteAgent(url).send([small, LocalFile(written(tmp_path / "large", 5000))])
    assert reply.text == "small: 100 bytes inside, large: 5000 bytes linked"


def written(path, size):
    path.write_bytes(content_of(size))
    return path


async def test_a_blocking_workflow_emits_and_asks():
    async with running(build_app(blocking)) as url, connect(url) as client:
        asked = await send(client, user_message("book"))
        done = await send(client, user_message("Rome", task_id=asked.id))
    assert asked.status.message.parts[0].text == "which city?"
    assert done.status.state == TaskState.TASK_STATE_COMPLETED
    assert "to Rome" in answer_of(done)


async def test_the_text_of_a_failed_attempt_is_withdrawn():
    async with running(build_app(retrying)) as url, connect(url) as client:
        task = await send(client, user_message("go"))
    texts = ["".join(part.text for part in each.parts) for each in task.artifacts]
    assert texts == ["Begun. attempt 2. ", ""]


async def test_cancel_ends_the_workflow_and_its_step():
    NOTED["go"] = asyncio.Event()
    async with running(build_app(long)) as url, connect(url) as client:
        async for event in client.send_message(user_message("go")):
            if event.HasField("artifact_update"):
                break
            task_id = event.task.id or event.status_update.task_id
        await client.cancel_task(CancelTaskRequest(id=task_id))
        await NOTED["go"].wait()
        status = await DBOS.get_workflow_status_async(task_id)
    assert status.status == "CANCELLED"


async def test_a_cancelled_question_ends_its_workflow():
    async with running(build_app(support.asking)) as url, connect(url) as client:
        asked = await send(client, user_message("book"))
        await client.cancel_task(CancelTaskRequest(id=asked.id))
        handle = await DBOS.retrieve_workflow_async(asked.id)
        with pytest.raises(error.DBOSAwaitedWorkflowCancelledError):
            await handle.get_result(polling_interval_sec=0.01)


async def test_the_engine_tells_which_workflows_this_process_runs():
    """DBOS has no public name for it; if this fails, find the new one for `_runs_here`."""
    NOTED["begun"], NOTED["go"] = asyncio.Event(), asyncio.Event()
    handle = await DBOS.start_workflow_async(held, "go")
    await NOTED["begun"].wait()
    assert _runs_here(handle.workflow_id)
    NOTED["go"].set()
    await handle.get_result()
    assert not _runs_here(handle.workflow_id)


async def test_a_workflow_that_is_cancelled_at_the_engine_fails_its_task():
    async with running(build_app(long)) as url, connect(url) as client:
        NOTED["go"] = asyncio.Event()
        sending = client.send_message(user_message("go"))
        async for event in sending:
            if event.HasField("task"):
                task_id = event.task.id
            if event.HasField("artifact_update"):
                await DBOS.cancel_workflow_async(task_id)
        task = await client.get_task(GetTaskRequest(id=task_id))
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert "cancelled" in task.status.message.parts[0].text


async def test_a_question_can_time_out():
    async with running(build_app(impatient)) as url, connect(url) as client:
        asked = await send(client, user_message("book"))
        handle = await DBOS.retrieve_workflow_async(asked.id)
        await handle.get_result()
        done = await send(client, user_message("Rome", task_id=asked.id))
    assert answer_of(done) == "too late"


async def test_questions_at_once_are_asked_in_turn():
    async with running(build_app(twice)) as url, connect(url) as client:
        first = await send(client, user_message("book"))
        second = await send(client, user_message("1", task_id=first.id))
        done = await send(client, user_message("2", task_id=first.id))
    asked = {first.status.message.parts[0].text, second.status.message.parts[0].text}
    assert asked == {"one?", "two?"}
    assert sorted(answer_of(done).split()) == ["1", "2"]


@pytest.mark.parametrize("workflow", [support.echo, support.asking], ids=["echo", "asking"])
async def test_workers_of_a_queue_run_the_workflow(workflow):
    app = build_app(adapt(workflow, queue=QUEUE))
    async with running(app) as url, connect(url) as client:
        task = await send(client, user_message("hello"))
        if task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED:
            task = await send(client, user_message("hello", task_id=task.id))
        status = await DBOS.get_workflow_status_async(task.id)
    assert answer_of(task).endswith("hello")
    assert status.queue_name == QUEUE


async def test_a_remote_agent_is_a_step_whose_question_becomes_the_workflows():
    async with running(build_app(support.asking)) as remote:
        REMOTE["step"] = a2a_step(remote)
        async with running(build_app(travelling)) as url, connect(url) as client:
            asked = await send(client, user_message("book"))
            done = await send(client, user_message("Rome", task_id=asked.id))
        steps = await DBOS.list_workflow_steps_async(asked.id)
    assert asked.status.message.parts[0].text == "which city?"
    assert answer_of(done) == "to Rome"
    assert len([step for step in steps if step["function_name"].startswith("a2a.http")]) == 2


class Dropping(A2AStep):
    """Loses the first answer."""

    is_lost = False

    async def _exchange(self, *arguments):
        reply = await super()._exchange(*arguments)
        if not self.is_lost:
            self.is_lost = True
            raise ConnectionError
        return reply


async def test_an_attempt_that_is_repeated_runs_the_remote_agent_once():
    calls = []

    async def counted(text: str) -> str:
        calls.append(text)
        return f"call {len(calls)}"

    async with running(build_app(counted)) as remote:
        REMOTE["step"] = Dropping(RemoteAgent(remote))
        async with running(build_app(travelling)) as url, connect(url) as client:
            task = await send(client, user_message("go"))
    assert (answer_of(task), calls) == ("call 1", ["go"])


async def test_a_failed_remote_task_is_not_repeated():
    calls = []

    async def failing(text: str) -> str:
        calls.append(text)
        raise RuntimeError(support.SECRET)

    async with running(build_app(failing)) as remote:
        REMOTE["step"] = a2a_step(remote)
        async with running(build_app(travelling)) as url, connect(url) as client:
            task = await send(client, user_message("go"))
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert calls == ["go"]


async def test_two_owners_never_share_a_workflow():
    """A reply reaches only a workflow of its own caller, whatever the task's id."""
    adapter = adapt(support.asking)
    async with running(build_app(support.asking)) as url, connect(url, user="ann") as ann:
        asked = await send(ann, user_message("book"))
        metadata = asked.status.message.metadata
        request = AgentRequest(
            parts=(Text("Rome"),),
            message=user_message("Rome").message,
            task_id=asked.id,
            context_id=asked.context_id,
            owner="bob",
            resuming=True,
            resume_metadata={"topic": metadata["topic"], "offset": metadata["offset"]},
        )
        [event] = [event async for event in adapter.stream(request)]
        assert "no longer open" in event.reason
        done = await send(ann, user_message("Paris", task_id=asked.id))
    assert answer_of(done) == "to Paris"


async def test_a_reply_to_a_workflow_that_was_deleted_is_rejected():
    async with running(build_app(support.asking)) as url, connect(url) as client:
        asked = await send(client, user_message("book"))
        await DBOS.delete_workflow_async(asked.id)
        done = await send(client, user_message("Rome", task_id=asked.id))
    assert done.status.state == TaskState.TASK_STATE_REJECTED


def test_a_workflow_that_yields_cannot_be_served():
    async def yielding(text):
        yield text

    with pytest.raises(TargetError, match="yielding yields"):
        adapt(yielding)


def test_a_durable_agent_is_refused_with_the_way_to_serve_it():
    agent = Agent(TestModel(), name="clerk", capabilities=[DBOSDurability()])
    with pytest.raises(TargetError, match=re.escape("@DBOS.workflow()")):
        build_app(agent, options=ServerOptions())


@pytest.mark.parametrize("place", ["app", "runner"])
def test_an_agent_with_the_plugin_of_dbos_is_refused(place):
    """A stand-in with its module's name: the package needs the framework of another environment."""
    plugin = type("DBOSPlugin", (), {"__module__": "dbos_google_adk.plugin"})()
    app = SimpleNamespace(name="clerk", plugins=[plugin])
    target = app if place == "app" else SimpleNamespace(app_name="clerk", app=app)
    with pytest.raises(TargetError, match="'clerk' is durable only inside a workflow"):
        build_app(target, options=ServerOptions())
