"""Authentication and limits over gRPC, the same as over HTTP."""

from __future__ import annotations

from contextlib import asynccontextmanager

import grpc
import grpc.aio
import httpx
import pytest
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
)
from a2a.types.a2a_pb2_grpc import A2AServiceStub

from a2a_adapters import (
    AgentRequest,
    BearerTokens,
    ConfigurationError,
    InputRequired,
    Limits,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import running, user_message
from tests.security.test_authentication import Badges
from tests.support.grpc_agents import refusal
from tests.support.requests import grpc_port

TOKENS = BearerTokens({"ann-token": "ann", "bob-token": "bob"})


def metadata(credentials=None):
    version = ("a2a-version", "1.0")
    return (version, ("authorization", credentials)) if credentials else (version,)


ANN, BOB = metadata("Bearer ann-token"), metadata("Bearer bob-token")


async def booking(request: AgentRequest):
    city = yield InputRequired("Where to?")
    yield f"{city.owner} goes to {city.text}"


def extend(about, user):
    return about


@asynccontextmanager
async def served(**options):
    options = {"authentication": TOKENS, "grpc_port": 0} | options
    app = build_app(booking, options=ServerOptions(**options))
    async with (
        running(app) as url,
        grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port(app)}") as channel,
    ):
        yield url, A2AServiceStub(channel)


@pytest.mark.parametrize("headers", [metadata(), metadata("Bearer wrong"), metadata("ann-token")])
async def test_calls_without_valid_credentials_are_refused(headers):
    async with served() as (_, stub):
        for call in (
            stub.SendMessage(user_message("hi"), metadata=headers),
            stub.SendStreamingMessage(user_message("hi"), metadata=headers),
            stub.GetTask(GetTaskRequest(id="x"), metadata=headers),
            stub.ListTasks(ListTasksRequest(), metadata=headers),
        ):
            code, info, _ = await refusal(call)
            assert code == grpc.StatusCode.UNAUTHENTICATED
            assert (info.reason, info.domain) == ("UNAUTHENTICATED", "a2a-adapters")


async def test_tasks_of_other_users_are_hidden():
    async with served() as (_, stub):
        task = (await stub.SendMessage(user_message("book"), metadata=ANN)).task
        follow_up = user_message("Rome", task_id=task.id)
        for call in (
            stub.GetTask(GetTaskRequest(id=task.id), metadata=BOB),
            stub.CancelTask(CancelTaskRequest(id=task.id), metadata=BOB),
            stub.SubscribeToTask(SubscribeToTaskRequest(id=task.id), metadata=BOB),
            stub.SendMessage(follow_up, metadata=BOB),
            stub.SendStreamingMessage(follow_up, metadata=BOB),
        ):
            assert (await refusal(call))[0] == grpc.StatusCode.NOT_FOUND
        assert not (await stub.ListTasks(ListTasksRequest(), metadata=BOB)).tasks
        done = (await stub.SendMessage(follow_up, metadata=ANN)).task
        assert done.artifacts[0].parts[0].text == "ann goes to Rome"


async def test_all_bindings_know_the_same_user():
    async with served() as (url, stub), httpx.AsyncClient(base_url=url, timeout=60) as http:
        task = (await stub.SendMessage(user_message("book"), metadata=ANN)).task
        for token, status in (("ann-token", 200), ("bob-token", 404), ("wrong", 401)):
            headers = {"Authorization": f"Bearer {token}", "A2A-Version": "1.0"}
            assert (await http.get(f"/tasks/{task.id}", headers=headers)).status_code == status


async def test_refusals_of_custom_authentication():
    async with served(authentication=Badges()) as (_, stub):
        for badge, code in (
            ("guest", grpc.StatusCode.PERMISSION_DENIED),
            ("broken", grpc.StatusCode.UNAVAILABLE),
        ):
            call = stub.ListTasks(ListTasksRequest(), metadata=metadata(f"Badge {badge}"))
            found, _, text = await refusal(call)
            assert found == code
            assert "hunter2" not in text


async def test_the_extended_card():
    async with served(extended_description=extend) as (_, stub):
        request = GetExtendedAgentCardRequest()
        card = await stub.GetExtendedAgentCard(request, metadata=ANN)
        assert card.security_requirements
        assert {i.protocol_binding for i in card.supported_interfaces} == {"GRPC"}
        assert card.supported_interfaces[0].url.startswith("127.0.0.1:")
        _, info, _ = await refusal(stub.GetExtendedAgentCard(request, metadata=metadata()))
        assert info.reason == "UNAUTHENTICATED"


async def test_limits():
    limits = Limits(runs=0, queued_runs=0, body_bytes=10_000)
    async with served(limits=limits) as (_, stub):
        code, info, _ = await refusal(stub.SendMessage(user_message("hi"), metadata=ANN))
        assert (code, info.reason) == (grpc.StatusCode.UNAVAILABLE, "SERVER_BUSY")
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await stub.SendMessage(user_message("x" * 20_000), metadata=ANN)
    assert raised.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_several_agents_need_a_port_each():
    with pytest.raises(ConfigurationError, match="one agent per port"):
        build_app({"one": booking}, options=ServerOptions(grpc_port=0))
