"""Spans of requests and runs."""

from __future__ import annotations

import grpc
import pytest
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import GetTaskRequest
from a2a.types.a2a_pb2_grpc import A2AServiceStub
from a2a.utils.errors import InternalError, TaskNotFoundError
from google.protobuf.json_format import MessageToJson
from opentelemetry import trace
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from a2a_adapters import RemoteAgent, ServerOptions, build_app
from a2a_adapters.testing import connect, running, user_message
from tests.observability.test_observability import SECRET, TRACE, TRACEPARENT, Traced, call, echo
from tests.support.requests import grpc_port
from tests.support.servers.front import Recording


async def call_over_grpc(target, headers):
    """Send a message and get an unknown task; return the answer."""
    app = build_app(target, options=ServerOptions(grpc_port=0, trust_traces="all"))
    async with (
        running(app),
        grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port(app)}") as channel,
    ):
        stub = A2AServiceStub(channel)
        metadata = (("a2a-version", "1.0"), *headers.items())
        answer = await stub.SendMessage(user_message("hello"), metadata=metadata)
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await stub.GetTask(GetTaskRequest(id="nothing"), metadata=metadata)
    assert raised.value.code() is grpc.StatusCode.NOT_FOUND
    return answer


BINDINGS = pytest.mark.parametrize("over", [call, call_over_grpc])


@BINDINGS
@pytest.mark.parametrize("where", ["on_the_loop", "in_a_thread"])
async def test_the_callers_trace_reaches_the_run(where, over):
    agent = Traced()
    await over(getattr(agent, where), {"traceparent": TRACEPARENT})
    ((traceparent, _),) = agent.seen
    assert traceparent == TRACEPARENT


@BINDINGS
async def test_without_logs_and_traces_nothing_is_recorded(over):
    agent = Traced()
    await over(agent.on_the_loop, {})
    assert agent.seen == [("", None)]


@pytest.mark.parametrize("where", ["on_the_loop", "in_a_thread"])
async def test_a_request_is_a_span_and_the_run_is_inside(where, spans, records):
    agent = Traced()
    task = await call(getattr(agent, where), {"traceparent": TRACEPARENT})
    run, span = spans()
    assert span.name == "SendMessage"
    assert span.kind is trace.SpanKind.SERVER
    assert f"{span.context.trace_id:032x}" == TRACE
    assert span.parent.span_id == 0x00F067AA0BA902B7
    assert span.attributes["a2a.task_id"] == task["id"]
    assert span.attributes["http.response.status_code"] == 200
    assert run.name == f"invoke_agent {where}"
    assert run.kind is trace.SpanKind.INTERNAL
    assert run.parent.span_id == span.context.span_id
    assert run.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert run.attributes["gen_ai.agent.name"] == where
    assert run.attributes["gen_ai.conversation.id"] == task["contextId"]
    ((traceparent, _),) = agent.seen
    assert traceparent == f"00-{TRACE}-{run.context.span_id:016x}-01"
    assert task["metadata"] == {"a2a_adapters.traceparent": traceparent}
    assert {line.trace_id for line in [*records("requests"), *records("tasks")]} == {TRACE}


async def test_a_refused_request_is_marked_in_its_span(spans):
    async with running(build_app(echo)) as url, connect(url) as client:
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id="nothing"))
    assert spans()[-1].attributes["error.type"] == "TaskNotFoundError"


async def test_requests_over_grpc_are_seen_too(spans, records):
    agent = Traced()
    answer = await call_over_grpc(agent.on_the_loop, {"traceparent": TRACEPARENT})
    sent, got = records("requests")
    assert (sent.verb, sent.operation, sent.status) == ("gRPC", "SendMessage", "OK")
    assert sent.task_id == answer.task.id
    assert (got.operation, got.status, got.error) == ("GetTask", "NOT_FOUND", "TaskNotFoundError")
    run, send, get = spans()
    assert [run.name, send.name, get.name] == ["invoke_agent on_the_loop", "SendMessage", "GetTask"]
    assert get.attributes["rpc.response.status_code"] == "NOT_FOUND"
    assert run.parent.span_id == send.context.span_id
    ((traceparent, _),) = agent.seen
    assert traceparent == f"00-{TRACE}-{run.context.span_id:016x}-01"


async def test_a_request_that_fails_inside_is_a_failed_span(spans, records):
    class Store(InMemoryTaskStore):
        async def get(self, task_id, context):
            raise OSError(SECRET)

    app = build_app(echo, options=ServerOptions(task_store=Store()))
    async with running(app) as url, connect(url) as client:
        with pytest.raises(InternalError):
            await client.get_task(GetTaskRequest(id="some"))
    assert spans()[-1].status.status_code is trace.StatusCode.ERROR
    assert records("requests")[-1].error == "InternalError"


async def test_hosts_that_get_no_credentials_get_no_trace(spans, caplog):
    agent = Recording(build_app(echo))

    async def card(_):
        return Response(named)

    front = Starlette(routes=[Route("/.well-known/agent-card.json", card)])
    async with running(agent) as elsewhere, running(front) as url:
        async with RemoteAgent(elsewhere) as remote:
            named = MessageToJson(await remote.card())
        agent.received.clear()
        with trace.get_tracer("test").start_as_current_span("trip"):
            async with RemoteAgent(url) as remote:
                await remote.send("hello")
    assert set(agent.header_values("traceparent")) == {""}
    assert not caplog.records
