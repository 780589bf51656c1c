"""gRPC of both protocol versions next to HTTP, on the same tasks."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
import grpc.aio
import httpx
import pytest
from a2a.client import ClientConfig, ClientFactory
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.compat.v0_3.a2a_v0_3_pb2_grpc import A2AServiceStub as OldStub
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.types.a2a_pb2_grpc import A2AServiceStub
from a2a.utils.grpc_status import status_from_call
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo

from a2a_adapters import Limits, ListenError, MissingExtraError, ServerOptions, build_app
from a2a_adapters.plugin import PROGRESS_EXTENSION, Extension
from a2a_adapters.testing import answer_of, running, send, user_message
from tests.support.requests import Agent, call, grpc_port, say

VERSION = (("a2a-version", "1.0"),)


class Served:
    """An agent over HTTP and gRPC."""

    def __init__(self, agent, http, channel):
        self.agent = agent
        self.http = http
        self.channel = channel
        self.stub = A2AServiceStub(channel)
        self.old = OldStub(channel)


@asynccontextmanager
async def serving(agent, **options):
    app = build_app(agent, options=ServerOptions(grpc_port=0, **options))
    async with (
        running(app) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as http,
        grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port(app)}") as channel,
    ):
        yield Served(agent, http, channel)


@pytest.fixture
async def served():
    async with serving(Agent()) as everything:
        yield everything


def message(text, **fields):
    parts = [Part(text=text)]
    content = Message(message_id="m", role=Role.ROLE_USER, parts=parts, **fields)
    return SendMessageRequest(message=content)


def old_message(text, **fields):
    parts = [old.Part(text=text)]
    content = old.Message(message_id="m", role=old.Role.ROLE_USER, content=parts, **fields)
    return old.SendMessageRequest(request=content)


async def fails(invocation):
    """Return the status of a call that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await invocation
    error = caught.value
    status = status_from_call(error)
    info = ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "a2a-protocol.org"
    return error.code(), info.reason, error.details()


async def test_the_card_has_its_address_for_both_versions():
    app = build_app(Agent(), options=ServerOptions(grpc_port=0))
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        card = (await http.get("/.well-known/agent-card.json")).json()
        address = f"127.0.0.1:{grpc_port(app)}"
        listed = [i for i in card["supportedInterfaces"] if i["protocolBinding"] == "GRPC"]
        assert [(i["url"], i["protocolVersion"]) for i in listed] == [
            (address, "1.0"),
            (address, "0.3"),
        ]
        old_interfaces = [(i["transport"], i["url"]) for i in card["additionalInterfaces"]]
        assert ("GRPC", address) in old_interfaces


async def test_grpc_url_is_the_address_in_the_card():
    options = ServerOptions(grpc_port=0, grpc_url="agents.example.org:443")
    async with (
        running(build_app(Agent(), options=options)) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as http,
    ):
        card = (await http.get("/.well-known/agent-card.json")).json()
        urls = {i["url"] for i in card["supportedInterfaces"] if i["protocolBinding"] == "GRPC"}
        assert urls == {"agents.example.org:443"}


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_the_official_client(served, version):
    card = AgentCard(name="agent")
    card.capabilities.streaming = True
    card.supported_interfaces.add(url="unused", protocol_binding="GRPC", protocol_version=version)
    config = ClientConfig(
        supported_protocol_bindings=["GRPC"], grpc_channel_factory=lambda _url: served.channel
    )
    client = ClientFactory(config).create(card)
    task = await send(client, user_message("hello"))
    assert answer_of(task) == "hello "


async def test_all_bindings_return_the_same_task(served):
    sent = await served.stub.SendMessage(message("ask"), metadata=VERSION)
    task_id = sent.task.id
    over_http = (await call(served.http, "GetTask", {"id": task_id}))["result"]
    assert over_http["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    got = await served.old.GetTask(old.GetTaskRequest(name=f"tasks/{task_id}"))
    assert (got.id, got.status.state) == (task_id, old.TaskState.TASK_STATE_INPUT_REQUIRED)
    answered = await call(served.http, "SendMessage", say("green", taskId=task_id))
    assert answered["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    got = await served.stub.GetTask(GetTaskRequest(id=task_id), metadata=VERSION)
    assert got.context_id == sent.task.context_id
    page = await served.stub.ListTasks(ListTasksRequest(page_size=3), metadata=VERSION)
    assert [task.id for task in page.tasks] == [task_id]


async def test_streams(served):
    events = [e async for e in served.stub.SendStreamingMessage(message("ask"), metadata=VERSION)]
    kinds = [event.WhichOneof("payload") for event in events]
    assert (kinds[0], kinds[-1]) == ("task", "status_update")
    task_id = events[0].task.id
    subscription = served.stub.SubscribeToTask(SubscribeToTaskRequest(id=task_id), metadata=VERSION)
    assert (await subscription.read()).task.id == task_id
    name = old.TaskSubscriptionRequest(name=f"tasks/{task_id}")
    old_subscription = served.old.TaskSubscription(name)
    assert (await old_subscription.read()).task.id == task_id
    subscription.cancel()
    old_subscription.cancel()
    cancelled = await served.stub.CancelTask(CancelTaskRequest(id=task_id), metadata=VERSION)
    assert cancelled.id == task_id

    stream = served.old.SendStreamingMessage(old_message("ask"))
    last = [event async for event in stream][-1].status_update
    assert (last.status.state, last.final) == (old.TaskState.TASK_STATE_INPUT_REQUIRED, True)
    gone = await served.old.CancelTask(old.CancelTaskRequest(name=f"tasks/{last.task_id}"))
    assert gone.status.state == old.TaskState.TASK_STATE_CANCELLED


@pytest.mark.parametrize("version", ["", "0.3", "1.1", "9.9", "x"])
async def test_other_versions_are_refused(served, version):
    metadata = [("a2a-version", version)] if version else None
    code, reason, _ = await fails(served.stub.SendMessage(message("a"), metadata=metadata))
    assert (code, reason) == (grpc.StatusCode.FAILED_PRECONDITION, "VERSION_NOT_SUPPORTED")
    if version not in ("", "0.3"):
        failed = await fails(served.old.SendMessage(old_message("a"), metadata=metadata))
        assert failed[:2] == (code, reason)
    assert served.agent.seen == []


async def test_errors_have_the_status_of_the_specification(served):
    unknown = GetTaskRequest(id="none")
    failed = await fails(served.stub.GetTask(unknown, metadata=VERSION))
    assert failed[:2] == (grpc.StatusCode.NOT_FOUND, "TASK_NOT_FOUND")
    failed = await fails(served.old.GetTask(old.GetTaskRequest(name="tasks/none")))
    assert failed[:2] == (grpc.StatusCode.NOT_FOUND, "TASK_NOT_FOUND")
    for name in ("none", "tasks/", "tasks/a/b", "jobs/a"):
        failed = await fails(served.old.GetTask(old.GetTaskRequest(name=name)))
        assert failed[:2] == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PARAMS")
    failed = await fails(served.stub.SendMessage(message("refuse"), metadata=VERSION))
    assert failed == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "INVALID_PARAMS",
        "say something else",
    )
    stream = served.stub.SendStreamingMessage(message("refuse"), metadata=VERSION)
    assert (await fails(stream.read()))[:2] == failed[:2]
    push = TaskPushNotificationConfig(task_id="t", url="https://example.org")
    failed = await fails(served.stub.CreateTaskPushNotificationConfig(push, metadata=VERSION))
    assert failed[:2] == (
        grpc.StatusCode.FAILED_PRECONDITION,
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
    )
    name = "tasks/t/pushNotificationConfigs/c"
    request = old.DeleteTaskPushNotificationConfigRequest(name=name)
    failed = await fails(served.old.DeleteTaskPushNotificationConfig(request))
    assert failed[1] == "PUSH_NOTIFICATION_NOT_SUPPORTED"
    failed = await fails(served.old.GetAgentCard(old.GetAgentCardRequest()))
    assert failed[1] == "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
    picture = message("a")
    picture.message.parts.add(raw=b"x", media_type="image/png")
    failed = await fails(served.stub.SendMessage(picture, metadata=VERSION))
    assert failed[:2] == (grpc.StatusCode.INVALID_ARGUMENT, "CONTENT_TYPE_NOT_SUPPORTED")
    role = message("a")
    role.message.role = Role.ROLE_AGENT
    failed = await fails(served.stub.SendMessage(role, metadata=VERSION))
    assert failed[0] == grpc.StatusCode.INVALID_ARGUMENT


async def test_invalid_fields_are_named(served):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await served.stub.SendMessage(SendMessageRequest(), metadata=VERSION)
    violations = BadRequest()
    assert status_from_call(caught.value).details[1].Unpack(violations)
    assert "message" in [violation.field for violation in violations.field_violations]


@pytest.mark.parametrize("service", ["lf.a2a.v1.A2AService", "a2a.v1.A2AService"])
async def test_malformed_messages_are_refused(served, service):
    invoke = served.channel.unary_unary(f"/{service}/SendMessage")
    metadata = VERSION if service.startswith("lf") else None
    failed = await fails(invoke(b"\xff\xff\xff", metadata=metadata))
    assert failed[:2] == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_PARAMS")


async def test_exceptions_are_hidden_and_long_texts_cut(served):
    task = (await served.stub.SendMessage(message("fail"), metadata=VERSION)).task
    assert "SECRET" not in str(task)
    unknown = GetTaskRequest(id="n" * 100_000)
    code, _, details = await fails(served.stub.GetTask(unknown, metadata=VERSION))
    assert code == grpc.StatusCode.NOT_FOUND
    assert len(details) <= 500


async def test_an_unsendable_result_is_an_internal_error(served, monkeypatch):
    def fail(_task):
        raise ValueError("SECRET")

    monkeypatch.setattr("a2a_adapters.bindings.v03_conversion.conversions.to_compat_task", fail)
    code, reason, details = await fails(served.old.SendMessage(old_message("a")))
    assert (code, reason) == (grpc.StatusCode.INTERNAL, "INTERNAL_ERROR")
    assert "SECRET" not in details


async def test_extensions_are_activated_by_metadata():
    uri = "https://example.org/needed"
    async with serving(Agent(extensions=[Extension(uri=uri, required=True)])) as served:
        failed = await fails(served.stub.SendMessage(message("a"), metadata=VERSION))
        assert failed[1] == "EXTENSION_SUPPORT_REQUIRED"
        activated = (*VERSION, ("a2a-extensions", "https://other"), ("a2a-extensions", uri))
        assert (await served.stub.SendMessage(message("a"), metadata=activated)).task.id
        old_header = (("x-a2a-extensions", uri),)
        assert (await served.old.SendMessage(old_message("a"), metadata=old_header)).task.id


async def test_initial_metadata_lists_the_active_extensions(served):
    asked = f"https://example.org/unknown, {PROGRESS_EXTENSION}"
    new = (*VERSION, ("a2a-extensions", asked))
    old_header = (("x-a2a-extensions", asked),)
    for name, calls in (
        (
            "a2a-extensions",
            (
                served.stub.SendMessage(message("a"), metadata=new),
                served.stub.SendStreamingMessage(message("a"), metadata=new),
            ),
        ),
        (
            "x-a2a-extensions",
            (
                served.old.SendMessage(old_message("a"), metadata=old_header),
                served.old.SendStreamingMessage(old_message("a"), metadata=old_header),
            ),
        ),
    ):
        for invocation in calls:
            initial = dict(await invocation.initial_metadata())
            assert initial[name] == PROGRESS_EXTENSION
    plain = served.stub.SendMessage(message("a"), metadata=VERSION)
    assert "a2a-extensions" not in dict(await plain.initial_metadata())
    assert {tuple(request.extensions) for request in served.agent.seen} == {
        (PROGRESS_EXTENSION,),
        (),
    }


async def test_a_subscription_ends_when_its_reader_disconnects(served):
    stream = served.stub.SendStreamingMessage(message("wait"), metadata=VERSION)
    assert (await stream.read()).task.id
    task_id = (await call(served.http, "ListTasks", {}))["result"]["tasks"][0]["id"]
    stream.cancel()
    served.agent.release.set()
    async with asyncio.timeout(60):
        while True:
            task = (await call(served.http, "GetTask", {"id": task_id}))["result"]
            if task["status"]["state"] == "TASK_STATE_COMPLETED":
                break


async def test_stopping_ends_streams_with_their_tasks():
    app = build_app(
        Agent(), options=ServerOptions(grpc_port=0, limits=Limits(shutdown_seconds=0.05))
    )
    async with AsyncExitStack() as stack:
        async with running(app):
            address = f"127.0.0.1:{grpc_port(app)}"
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(address))
            stub = A2AServiceStub(channel)
            stream = stub.SendStreamingMessage(message("wait"), metadata=VERSION)
            events = aiter(stream)
            assert (await anext(events)).task.id
        last = [event async for event in events][-1].status_update.status
        assert last.state == TaskState.TASK_STATE_FAILED
        assert "stopped" in last.message.parts[0].text
        with pytest.raises(grpc.aio.AioRpcError):
            await stub.SendMessage(message("a"), metadata=VERSION)


async def test_a_port_in_use(served):
    port = int(served.http.base_url.port)
    app = build_app(Agent(), options=ServerOptions(grpc_port=port))
    with pytest.raises(ListenError, match=f"port {port} of 127.0.0.1 is taken"):
        await app.state.agents.start()


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "a2a_adapters_grpc.serving.server", None)
    with pytest.raises(MissingExtraError, match=r"a2a-adapters\[grpc\]"):
        build_app(Agent(), options=ServerOptions(grpc_port=0))
