"""A2A 1.1 as drafted: generations, long polls, conditions and resumed streams."""

from __future__ import annotations

import asyncio
import json
from uuid import uuid4

import grpc
import grpc.aio
import pytest
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import TaskState

from a2a_adapters import (
    ConfigurationError,
    InputRequired,
    Progress,
    RemoteAgent,
    ServerOptions,
    build_app,
)
from a2a_adapters.bindings import sse
from a2a_adapters.plugin import PROGRESS_EXTENSION
from a2a_adapters.runtime import generations, subscriber
from a2a_adapters.testing import connect, running, stream, user_message
from tests.support.preview import (
    V11,
    JsonRpc,
    Rest,
    begun,
    drafted_type,
    generation,
    on_condition,
    read,
    reading,
    text_of,
    unique,
    until_said,
)
from tests.support.requests import (
    V1,
    Agent,
    client_of,
    grpc_port,
    old_call,
    old_say,
    refused,
    rpc,
    say,
    serving,
)

PREVIEW = ServerOptions(preview="1.1")
COMPLETED = TaskState.TASK_STATE_COMPLETED
NO_HOLD = 10.0
"""Less than the time of a long poll."""


BINDINGS = [JsonRpc, Rest]


class Talker:
    """Says words when it is told to."""

    def __init__(self):
        self.words = asyncio.Queue()

    async def say(self, text: str):
        while word := await self.words.get():
            yield word

    def then(self, *words):
        for word in words:
            self.words.put_nowait(word)


@pytest.fixture
def talker():
    return Talker()


@pytest.fixture
def gate():
    return asyncio.Event()


@pytest.fixture
def target(talker, gate):
    async def answer(text: str):
        match text:
            case "say":
                async for word in talker.say(text):
                    yield word
            case "say and ask":
                async for word in talker.say(text):
                    yield word
                yield InputRequired("which?")
            case "ask":
                reply = yield InputRequired("which?")
                yield f"heard {reply.text}"
                await gate.wait()
            case "work":
                yield Progress("working")
                yield "done"
            case _:
                yield f"echo {text}"
                yield "!"

    return answer


@pytest.fixture
async def app(target):
    return build_app(target, options=PREVIEW)


@pytest.fixture
async def http(app):
    async with client_of(app) as http:
        yield http


@pytest.fixture(params=BINDINGS)
def binding(request, http):
    return request.param(http)


def runtime(app):
    [agent] = app.state.agents
    return agent.runtime


async def is_so(condition):
    """Wait for a state of the server that nothing tells."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def held(app, count=1):
    """Wait until requests are held."""
    await is_so(lambda: sum(len(live.subscribers) for live in runtime(app).live.all()) == count)


async def test_each_event_has_the_next_number(binding):
    events = await read(binding, "SendStreamingMessage", unique("hello"))
    assert "task" in events[0][1]
    assert [generation(event) for _, event in events] == list(range(1, len(events) + 1))
    assert [number for number, _ in events] == [generation(event) for _, event in events]
    assert len(events) > 4
    assert isinstance(events[0][1]["task"]["generation"], str)  # ProtoJSON of 64 bits
    task_id = events[0][1]["task"]["id"]
    assert generation(await binding.call("GetTask", {"id": task_id})) == len(events)


async def test_every_answer_with_a_task_has_its_number(binding):
    answer = await binding.call("SendMessage", unique("hello"))
    number = generation(answer)
    asked = (await binding.call("SendMessage", unique("ask")))["task"]
    for artifacts in ("true", "false"):
        listed = await binding.call("ListTasks", {"includeArtifacts": artifacts == "true"})
        by_id = {task["id"]: generation(task) for task in listed["tasks"]}
        assert by_id == {answer["task"]["id"]: number, asked["id"]: generation(asked)}
    cancelled = await binding.call("CancelTask", {"id": asked["id"]})
    assert generation(cancelled) == generation(asked) + 1


async def test_a_message_has_none():
    async with serving(Agent(), options=PREVIEW) as http:
        for binding in (JsonRpc(http), Rest(http)):
            answer = await binding.call("SendMessage", unique("reply"))
            assert generation(answer) is None
            [(number, event)] = await read(binding, "SendStreamingMessage", unique("reply"))
            assert (number, list(event)) == (None, ["message"])


async def test_progress_changes_no_task_and_has_none(binding):
    extension = {"A2A-Extensions": PROGRESS_EXTENSION}
    events = await read(binding, "SendStreamingMessage", unique("work"), **extension)
    numbers = [generation(event) for _, event in events]
    assert numbers.count(None) == 1
    counted = [number for number in numbers if number is not None]
    assert counted == list(range(1, len(counted) + 1))


async def test_other_versions_are_as_without_the_preview(http):
    params = {**unique("hello"), "configuration": {"ifGenerationMatch": "x"}}
    for method, path in (("SendStreamingMessage", "/"), ("SendMessage", "/")):
        answer = await http.post(path, json=rpc(method, params), headers=V1)
        assert '"state":"TASK_STATE_COMPLETED"' in answer.text
        assert "generation" not in answer.text
        assert "\nid:" not in answer.text
    answer = await http.post("/message:stream", json=params, headers=V1)
    assert "generation" not in answer.text
    assert not answer.text.startswith("id:")
    old = await old_call(http, "message/send", old_say("hello"))
    assert "generation" not in json.dumps(old)
    got = await http.get(f"/tasks/{old['result']['id']}?currentGeneration=x", headers=V1)
    assert got.status_code == 200
    assert "generation" not in got.text


async def test_without_the_preview_the_version_is_unknown(target):
    async with client_of(build_app(target)) as http:
        answer = await http.post("/message:send", json=say("hello"), headers=V11)
        error = refused(answer, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED")
        assert error["details"][0]["metadata"] == {"supportedVersions": "1.0, 0.3"}
        assert "1.1" not in (await http.get("/.well-known/agent-card.json")).text
        params = {**say("hello"), "configuration": {"ifGenerationMatch": "x"}}
        answer = await http.post("/", json=rpc("SendMessage", params), headers=V1)
        assert "generation" not in answer.text
        path = f"/tasks/{answer.json()['result']['task']['id']}"
        assert "generation" not in (await http.get(path, headers=V1)).text


async def test_the_card_lists_the_draft_last(http):
    card = (await http.get("/.well-known/agent-card.json")).json()
    listed = [each["protocolVersion"] for each in card["supportedInterfaces"]]
    assert listed == ["1.0", "1.0", "0.3", "0.3", "1.1", "1.1"]
    assert card["protocolVersion"].startswith("0.3")
    answer = await http.get("/tasks/none", headers={"A2A-Version": "1.2"})
    error = refused(answer, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED")
    assert error["details"][0]["metadata"] == {"supportedVersions": "1.1, 1.0, 0.3"}
    old = await http.post("/v1/message:send", json=say("hello"), headers=V11)
    refused(old, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED")


async def test_clients_of_1_0_call_an_agent_with_the_preview(app):
    async with running(app) as url:
        async with connect(url) as client:
            events = await stream(client, user_message("hello"))
            assert events[-1].status_update.status.state == COMPLETED
        async with RemoteAgent(url) as agent:
            assert (await agent.send("hello")).text == "echo hello!"


@pytest.mark.parametrize("preview", ["1.0", "1.2", 1.1, ""])
def test_only_the_draft_can_be_previewed(preview):
    with pytest.raises(ConfigurationError, match="preview"):
        ServerOptions(preview=preview)


# Long polls


async def test_a_poll_is_held_until_the_task_changes(app, binding, talker):
    task = await begun(binding, "say")
    talker.then("one ")
    task = await until_said(binding, task, "one ")
    known = {"id": task["id"], "currentGeneration": task["generation"]}
    poll = asyncio.create_task(binding.call("GetTask", known))
    await held(app)
    talker.then("two ")
    changed = await poll
    assert (text_of(changed), generation(changed)) == ("one two ", generation(task) + 1)
    talker.then("")
    ended = await until_said(binding, changed, "one two ")
    assert ended["id"] == task["id"]


async def test_a_poll_is_held_while_a_task_waits_for_its_caller(app, binding, gate):
    asked = (await binding.call("SendMessage", unique("ask")))["task"]
    known = {"id": asked["id"], "currentGeneration": asked["generation"]}
    poll = asyncio.create_task(binding.call("GetTask", known))
    await held(app)
    sent = asyncio.create_task(binding.call("SendMessage", unique("red", taskId=asked["id"])))
    assert generation(await poll) > generation(asked)
    gate.set()
    await sent


@pytest.mark.parametrize("beyond", [-5, -1, 0])
async def test_a_task_that_has_changed_is_returned_at_once(binding, talker, beyond):
    task = await begun(binding, "say")
    talker.then("one ")
    task = await until_said(binding, task, "one ")
    known = {"id": task["id"], "currentGeneration": generation(task) - 1 + beyond}
    async with asyncio.timeout(NO_HOLD):
        assert await binding.call("GetTask", known) == task
    talker.then("")


async def test_a_terminal_task_is_returned_at_once(binding):
    task = (await binding.call("SendMessage", unique("hello")))["task"]
    known = {"id": task["id"], "currentGeneration": generation(task) + 7}
    async with asyncio.timeout(NO_HOLD):
        assert await binding.call("GetTask", known) == task


async def test_a_poll_ends_with_the_task_as_it_is(binding, talker, monkeypatch):
    monkeypatch.setattr(generations, "HOLD_SECONDS", 0.05)
    task = await begun(binding, "say")
    known = {"id": task["id"], "currentGeneration": task["generation"]}
    assert await binding.call("GetTask", known) == task
    talker.then("")


async def test_a_poll_of_an_unknown_task_is_refused(binding):
    assert (await binding.call("GetTask", {"id": "none", "currentGeneration": 1}))["code"] in (
        -32001,
        404,
    )


async def test_a_poll_ends_when_its_client_leaves(app, binding, talker):
    task = await begun(binding, "say")
    known = {"id": task["id"], "currentGeneration": task["generation"]}
    poll = asyncio.create_task(binding.call("GetTask", known))
    await held(app)
    poll.cancel()
    await held(app, 0)
    talker.then("")


async def test_polls_end_when_the_runtime_stops(app, http, gate):
    binding = JsonRpc(http)
    asked = (await binding.call("SendMessage", unique("ask")))["task"]
    known = {"id": asked["id"], "currentGeneration": asked["generation"]}
    poll = asyncio.create_task(binding.call("GetTask", known))
    await held(app)
    await runtime(app).aclose()
    assert await poll == asked
    async with asyncio.timeout(NO_HOLD):
        assert await binding.call("GetTask", known) == asked


# Conditions


async def test_a_message_is_taken_in_the_expected_state(binding, gate):
    gate.set()
    asked = (await binding.call("SendMessage", unique("ask")))["task"]
    sent = on_condition("red", asked, asked["generation"])
    task = (await binding.call("SendMessage", sent))["task"]
    assert text_of(task) == "heard red"
    # A retry is a duplicate, although the message itself has changed the task.
    again = (await binding.call("SendMessage", sent))["task"]
    assert again == task


async def test_a_message_for_another_state_is_refused(http, gate):
    gate.set()
    task = (await JsonRpc(http).call("SendMessage", unique("ask")))["task"]
    number = generation(task)
    sent = on_condition("red", task, number - 1)
    error = await JsonRpc(http).call("SendMessage", sent)
    metadata = {
        "taskId": task["id"],
        "expectedGeneration": str(number - 1),
        "currentGeneration": str(number),
    }
    assert error["code"] == -32010
    assert error["data"][0]["reason"] == "TASK_GENERATION_MISMATCH"
    assert error["data"][0]["metadata"] == metadata
    for path in ("/message:send", "/message:stream"):
        answer = await http.post(path, json=sent, headers=V11)
        error = refused(answer, 409, "ABORTED", "TASK_GENERATION_MISMATCH")
        assert error["details"][0]["metadata"] == metadata
    assert await JsonRpc(http).call("GetTask", {"id": task["id"]}) == task


async def test_one_of_several_writers_wins(binding, gate):
    asked = (await binding.call("SendMessage", unique("ask")))["task"]
    answers = [
        asyncio.create_task(
            binding.call("SendMessage", on_condition(word, asked, asked["generation"]))
        )
        for word in ("red", "green", "blue")
    ]
    # The others are refused while the first one is still being answered.
    for _ in range(2):
        done, answers = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
        for refusal in done:
            assert refusal.result()["code"] in (-32010, 409)
        if len(answers) == 1:
            break
    gate.set()
    [winner] = answers
    task = (await winner)["task"]
    assert text_of(task).startswith("heard ")
    said = [m for m in task["history"] if m["role"] == "ROLE_USER"]
    assert len(said) == 2


async def test_a_queued_writer_is_refused_in_its_turn(app, binding, talker):
    task = await begun(binding, "say and ask")
    talker.then("one ")
    task = await until_said(binding, task, "one ")
    sent = on_condition("red", task, task["generation"])
    waiting = asyncio.create_task(binding.call("SendMessage", sent))
    await is_so(lambda: len(runtime(app).figures.messages) == 2)
    talker.then("")
    assert (await waiting)["code"] in (-32010, 409)
    asked = await binding.call("GetTask", {"id": task["id"]})
    assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert [message["role"] for message in asked["history"]] == ["ROLE_USER"]


async def test_a_new_task_has_no_condition(binding):
    params = {**unique("hello"), "configuration": {"ifGenerationMatch": 99}}
    assert "task" in await binding.call("SendMessage", params)


@pytest.mark.parametrize("value", ["one", "1.5", 1.5, True, 1 << 63, {}, [1], ""])
async def test_wrong_numbers_are_refused(http, value):
    task = (await JsonRpc(http).call("SendMessage", unique("ask")))["task"]
    sent = on_condition("red", task, value)
    for method, params in (
        ("SendMessage", sent),
        ("GetTask", {"id": task["id"], "currentGeneration": value}),
    ):
        error = await JsonRpc(http).call(method, params)
        assert error["code"] == -32602
        assert "Generation" in error["message"]
    answer = await http.post("/message:send", json=sent, headers=V11)
    refused(answer, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
    if isinstance(value, str):
        path = f"/tasks/{task['id']}"
        answer = await http.get(path, params={"currentGeneration": value}, headers=V11)
        refused(answer, 400, "INVALID_ARGUMENT", "INVALID_PARAMS")
    assert await JsonRpc(http).call("GetTask", {"id": task["id"]}) == task


@pytest.mark.parametrize("value", [3, 3.0, "3", None])
@pytest.mark.parametrize("name", ["ifGenerationMatch", "if_generation_match"])
async def test_numbers_have_the_forms_of_protojson(http, gate, name, value):
    gate.set()
    task = (await JsonRpc(http).call("SendMessage", unique("ask")))["task"]
    params = {**unique("red", taskId=task["id"]), "configuration": {name: value}}
    if value is not None:
        assert (await JsonRpc(http).call("SendMessage", params))["code"] == -32010
    else:
        params["configuration"]["returnImmediately"] = True
        assert "task" in await JsonRpc(http).call("SendMessage", params)


# Resumed streams


@pytest.mark.parametrize("missed", [0, 1, 2, 3])
async def test_a_stream_goes_on_after_its_last_event(binding, talker, missed, monkeypatch):
    monkeypatch.setattr(sse, "_REFUSAL_SECONDS", 0.1)  # a stream without events begins then
    talker.then("one ", "two ")
    async with reading(binding, "SendStreamingMessage", unique("say")) as events:
        first = []
        async for event in events:
            first.append(event)
            if text_of(event[1]) == "two ":
                break
    task = first[0][1]["task"]
    words = ["a ", "b ", "c "][:missed]
    talker.then(*words)
    await until_said(binding, task, "one two " + "".join(words))
    last = str(first[-1][0])
    async with reading(
        binding, "SubscribeToTask", {"id": task["id"]}, **{"Last-Event-ID": last}
    ) as events:
        rest = [await anext(events) for _ in words]
        talker.then("end", "")
        rest += [event async for event in events]
    numbers = [generation(event) for _, event in [*first, *rest]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all("task" not in event for _, event in rest)
    said = "".join(text_of(event) for _, event in [*first, *rest])
    assert said == "one two " + "".join(words) + "end"


@pytest.mark.parametrize("last", ["99999", "-1", "x", "\u00b2", "", "1" * 30])
async def test_an_unknown_event_is_followed_by_the_whole_task(app, binding, talker, last):
    task = await begun(binding, "say")
    talker.then("one ")
    task = await until_said(binding, task, "one ")
    header = {"Last-Event-ID": last.encode("latin-1")}
    async with reading(binding, "SubscribeToTask", {"id": task["id"]}, **header) as events:
        number, event = await anext(events)
        assert (number, event) == (generation(task), {"task": task})
        talker.then("")
        assert [event async for event in events]


async def test_forgotten_events_are_replaced_by_the_whole_task(binding, talker, monkeypatch):
    monkeypatch.setattr(subscriber, "KEPT_BYTES", 1500)
    task = await begun(binding, "say")
    for number in range(8):
        talker.then(f"{number} ")
    task = await until_said(binding, task, "0 1 2 3 4 5 6 7 ")
    params = {"id": task["id"]}
    for last, has_whole in ((2, True), (generation(task) - 1, False)):
        header = {"Last-Event-ID": str(last)}
        async with reading(binding, "SubscribeToTask", params, **header) as events:
            _, event = await anext(events)
            assert generation(event) == generation(task)
            assert ("task" in event) is has_whole
    talker.then("")


async def test_kept_events_count_until_the_task_ends(app, binding, talker):
    backlog = runtime(app)._backlog
    task = await begun(binding, "say")
    talker.then("one ")
    task = await until_said(binding, task, "one ")
    assert backlog._held > 0
    talker.then("")
    await is_so(lambda: not runtime(app).live.all())
    assert backlog._held == 0


async def test_a_full_backlog_keeps_no_events(app, binding, talker):
    runtime(app)._backlog._limit = 1000
    task = await begun(binding, "say")
    talker.then("one ", "two ")
    task = await until_said(binding, task, "one two ")
    header = {"Last-Event-ID": "1"}
    async with reading(binding, "SubscribeToTask", {"id": task["id"]}, **header) as events:
        assert (await anext(events))[1] == {"task": task}
    talker.then("")


async def test_other_versions_ignore_the_last_event(http, talker):
    task = await begun(JsonRpc(http), "say")
    talker.then("one ")
    await until_said(JsonRpc(http), task, "one ")
    path, headers = f"/tasks/{task['id']}:subscribe", {**V1, "Last-Event-ID": "1"}
    async with http.stream("GET", path, headers=headers) as response:
        assert '"task"' in await anext(response.aiter_lines())
    talker.then("")


# gRPC


class Grpc:
    """Calls the service with the messages of the draft."""

    def __init__(self, channel):
        self._channel = channel

    def _call(self, kind, name, answer):
        make = getattr(self._channel, kind)
        return make(
            f"/lf.a2a.v1.A2AService/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=drafted_type(answer).FromString,
        )

    def send(self, request, version="1.1"):
        call = self._call("unary_unary", "SendMessage", "SendMessageResponse")
        return call(request, metadata=(("a2a-version", version),))

    def stream(self, request, version="1.1"):
        call = self._call("unary_stream", "SendStreamingMessage", "StreamResponse")
        return call(request, metadata=(("a2a-version", version),))

    def get(self, **fields):
        call = self._call("unary_unary", "GetTask", "Task")
        return call(drafted_type("GetTaskRequest")(**fields), metadata=(("a2a-version", "1.1"),))


def request_of(text, **configuration):
    fields = {"message_id": uuid4().hex, "role": "ROLE_USER", "parts": [{"text": text}]}
    task_id = configuration.pop("task_id", "")
    request = drafted_type("SendMessageRequest")(message={**fields, "task_id": task_id})
    for name, value in configuration.items():
        setattr(request.configuration, name, value)
    return request


@pytest.fixture
async def channel(target):
    app = build_app(target, options=ServerOptions(preview="1.1", grpc_port=0))
    async with (
        client_of(app),
        grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port(app)}") as channel,
    ):
        yield Grpc(channel)


async def test_grpc_has_the_numbers_of_the_draft(channel):
    events = [event async for event in channel.stream(request_of("hello"))]
    payloads = [getattr(event, event.WhichOneof("payload")) for event in events]
    assert [payload.generation for payload in payloads] == list(range(1, len(payloads) + 1))
    task = await channel.get(id=payloads[0].id, current_generation=0)
    assert task.generation == len(payloads)


async def test_grpc_refuses_a_message_for_another_state(channel, gate):
    gate.set()
    task = (await channel.send(request_of("ask"))).task
    request = request_of("red", task_id=task.id, if_generation_match=task.generation + 1)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await channel.send(request)
    assert caught.value.code() is grpc.StatusCode.ABORTED
    request = request_of(
        "red", task_id=task.id, if_generation_match=task.generation, return_immediately=True
    )
    known = channel.get(id=task.id, current_generation=task.generation)
    await channel.send(request)
    assert (await known).generation > task.generation


async def test_grpc_of_0_3_is_not_of_the_draft(target):
    app = build_app(target, options=ServerOptions(preview="1.1", grpc_port=0))
    async with (
        client_of(app),
        grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port(app)}") as channel,
    ):
        call = channel.unary_unary("/a2a.v1.A2AService/SendMessage")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"", metadata=(("a2a-version", "1.1"),))
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION


def test_a_task_store_cannot_be_previewed():
    with pytest.raises(ConfigurationError, match="task_store"):
        ServerOptions(preview="1.1", task_store=InMemoryTaskStore())
