"""Spans of calls to remote agents and of runs, also of resumed ones."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.trace import SpanKind, StatusCode

from a2a_adapters import (
    AgentRequest,
    Authenticator,
    InputRequired,
    Limits,
    RemoteAgent,
    RemoteAgentError,
    RemoteOptions,
    RemoteTaskError,
    ServerOptions,
    TaskMetadata,
    TextDelta,
    TokenUsage,
    UnauthenticatedError,
    build_app,
)
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.testing import running
from tests.plugins.sql.test_takeover import Slow
from tests.plugins.tracing.test_bill import SCHEME
from tests.support.servers.front import Recording

TRUSTING = ServerOptions(trust_traces="all")
BINDINGS = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])


async def inner(request: AgentRequest):
    """Answers, asks, fails or says its baggage."""
    match request.text:
        case "ask":
            answer = yield InputRequired("Which city?")
            yield answer.text
        case "fail":
            raise ValueError("secret")
        case "baggage":
            yield str(baggage.get_baggage("customer"))
        case _:
            yield TaskMetadata(TokenUsage(3, 4, 7).as_metadata())
            yield "done"


def named(spans, name, kind=None):
    return [each for each in spans() if each.name == name and kind in (None, each.kind)]


def agent_of(url, binding="JSONRPC"):
    return RemoteAgent(url, options=RemoteOptions(bindings=[binding], trusted_hosts=["127.0.0.1"]))


async def test_an_adapter_that_compares_by_value_is_observed(spans):
    @dataclass
    class Equal(Adapter):
        text: str = "hello"

        def describe(self):
            return AgentDescription(name="equal", description="Equals others.")

        async def stream(self, request):
            yield TextDelta(self.text)

    async with running(build_app({"a": Equal(), "b": Equal()})) as url:
        for name in "ab":
            assert (await RemoteAgent(f"{url}/agents/{name}").send("hi")).text == "hello"
    for name in "ab":
        assert len(named(spans, f"invoke_agent {name}", SpanKind.INTERNAL)) == 1


@BINDINGS
async def test_a_message_is_a_client_span_that_the_server_continues(binding, spans):
    app = build_app(inner, options=ServerOptions(grpc_port=0, trust_traces="all"))
    async with running(app) as url, agent_of(url, binding) as remote:
        reply = await remote.send("hello", context_id="trip")
    (call,) = named(spans, "invoke_agent inner", SpanKind.CLIENT)
    (run,) = named(spans, "invoke_agent inner", SpanKind.INTERNAL)
    (request,) = named(spans, "SendStreamingMessage", SpanKind.SERVER)
    assert call.parent is None
    assert request.parent.span_id == call.context.span_id
    assert run.parent.span_id == request.context.span_id
    expected = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "a2a",
        "gen_ai.agent.name": "inner",
        "gen_ai.agent.version": "1.0.0",
        "gen_ai.conversation.id": "trip",
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 4,
        "server.address": "127.0.0.1",
        "rpc.method": "SendStreamingMessage",
        "a2a.task_id": reply.task_id,
        "a2a.task_state": "completed",
    }
    assert expected.items() <= dict(call.attributes).items()
    assert call.attributes.get("rpc.system.name") == {"JSONRPC": "jsonrpc", "GRPC": "grpc"}.get(
        binding
    )
    if binding != "GRPC":
        assert call.attributes["server.port"] == urlsplit(url).port
    assert request.attributes["gen_ai.conversation.id"] == "trip"
    assert run.attributes["gen_ai.usage.output_tokens"] == 4
    assert not [text for each in spans() for text in each.attributes.values() if text == "hello"]


@BINDINGS
async def test_every_operation_is_a_client_span(binding, spans):
    app = build_app(inner, options=ServerOptions(grpc_port=0, trust_traces="all"))
    async with running(app) as url, agent_of(url, binding) as remote:
        task = await remote.start("ask")
        await task.result()
        await task.status()
        async for _ in remote.tasks():
            pass
        await task.cancel()
    called = [each for each in spans() if each.kind is SpanKind.CLIENT]
    methods = [each.attributes.get("rpc.method") for each in called]
    assert methods == [
        *("GetAgentCard", "SendMessage", "SubscribeToTask"),
        *("GetTask", "ListTasks", "CancelTask"),
    ]
    asked = {each.parent.span_id for each in spans() if each.parent is not None}
    unseen = {"GetAgentCard"}  # its span has a request of another name below it
    assert {each.context.span_id for each in called if each.name not in unseen} <= asked
    followed = called[2]
    assert followed.attributes["a2a.task_state"] == "input-required"


async def test_a_failure_names_its_error_and_nothing_of_its_text(spans):
    async with running(build_app(inner)) as url, RemoteAgent(url) as remote:
        with pytest.raises(RemoteTaskError):
            await remote.send("fail")
        with pytest.raises(Exception, match="refused"):
            await remote.get_task("nothing")
    (call,) = named(spans, "invoke_agent inner", SpanKind.CLIENT)
    assert call.attributes["error.type"] == "RemoteTaskError"
    assert call.attributes["a2a.task_state"] == "failed"
    (lost,) = named(spans, "GetTask", SpanKind.CLIENT)
    assert lost.attributes["error.type"] == "RemoteRefusedError"
    for each in (call, lost):
        assert each.status.status_code is StatusCode.ERROR
        assert not each.status.description
        assert not each.events
    assert "secret" not in "".join(each.to_json() for each in spans())


async def test_a_stream_that_is_left_early_ends_its_span_without_an_error(spans):
    async with running(build_app(inner)) as url, RemoteAgent(url) as remote:
        events = remote.stream("hello")
        await anext(events)
        await events.aclose()
    (call,) = named(spans, "invoke_agent inner", SpanKind.CLIENT)
    assert call.status.status_code is StatusCode.UNSET


async def test_an_answer_links_to_the_run_that_asked(spans):
    async with running(build_app(inner)) as url, RemoteAgent(url) as remote:
        asked = await remote.send("ask")
        await remote.send("Rome", task_id=asked.task_id, context_id=asked.context_id)
    first, second = named(spans, "invoke_agent inner", SpanKind.INTERNAL)
    assert [link.context.span_id for link in second.links] == [first.context.span_id]
    assert second.context.trace_id != first.context.trace_id


@BINDINGS
async def test_baggage_arrives_with_and_without_a_trace(binding, spans):
    app = build_app(inner, options=ServerOptions(grpc_port=0, trust_traces="all"))
    async with running(app) as url, agent_of(url, binding) as remote:
        token = context.attach(baggage.set_baggage("customer", "ada"))
        try:
            first = await remote.send("baggage")
        finally:
            context.detach(token)
        second = await remote.send("baggage")
    assert [first.text, second.text] == ["ada", "None"]


class Everyone(Authenticator):
    """Admits all callers who give their names."""

    def security_schemes(self):
        return {"name": SCHEME}

    async def authenticate(self, headers):
        if not (name := headers.get("x-name")):
            raise UnauthenticatedError("say your name")
        return name


STRANGE = f"00-{'5' * 32}-{'7' * 16}-01"


@BINDINGS
@pytest.mark.parametrize(
    ("trust", "authentication", "is_trusted"),
    [
        ("authenticated", None, False),
        ("authenticated", Everyone(), True),
        ("all", None, True),
        ("all", Everyone(), True),
        ("none", None, False),
        ("none", Everyone(), False),
    ],
)
async def test_only_trusted_callers_decide_what_inner_agents_get(
    binding, trust, authentication, is_trusted, spans
):
    inside = Recording(build_app(inner))
    async with running(inside) as address, RemoteAgent(address) as remote:

        async def outer(text: str) -> str:
            """Asks another agent."""
            return (await remote.send(text)).text

        options = ServerOptions(trust_traces=trust, authentication=authentication, grpc_port=0)
        headers = {"traceparent": STRANGE, "baggage": "customer=ada,tier=gold", "x-name": "ann"}
        async with running(build_app(outer, options=options)) as url:
            agent = agent_of(url, binding)
            assert (await agent.send("hello", headers=headers)).text == "done"
            await agent.aclose()
    posts = [each.headers for each in inside.received if each.method == "POST"]
    traces = {each.get("traceparent", "")[3:35] for each in posts}
    assert (traces == {"5" * 32}) is is_trusted
    assert {each.get("baggage", "") for each in posts} == (
        {"customer=ada,tier=gold"} if is_trusted else {""}
    )


@pytest.mark.parametrize(("entries", "arrive"), [(64, True), (65, False), (500, False)], ids=str)
async def test_the_baggage_of_trusted_callers_is_bounded(entries, arrive, spans):
    seen = []

    async def look(text: str) -> str:
        """Count the baggage."""
        seen.append(len(baggage.get_all()))
        return text

    sent = ",".join(f"k{n}=v" for n in range(entries))
    async with running(build_app(look, options=TRUSTING)) as url, RemoteAgent(url) as remote:
        await remote.send("hello", headers={"baggage": sent})
    assert seen == [entries if arrive else 0]


async def test_a_run_that_waited_for_another_callers_run_has_its_own_baggage(spans):
    seen, has_begun, may_go_on = {}, asyncio.Event(), asyncio.Event()

    async def waits(request: AgentRequest):
        """Wait for permission."""
        seen[request.owner] = baggage.get_baggage("customer")
        has_begun.set()
        await may_go_on.wait()
        yield "done"

    options = ServerOptions(authentication=Everyone(), limits=Limits(runs=1))
    async with running(build_app(waits, options=options)) as url, RemoteAgent(url) as remote:
        tasks = []
        for name in ("ann", "bob"):
            headers = {"x-name": name, "baggage": f"customer={name}"}
            tasks.append(await remote.start("hello", headers=headers))
            await has_begun.wait()
        assert list(seen) == ["ann"]
        may_go_on.set()
        await asyncio.gather(*[task.result() for task in tasks])
    assert seen == {"ann": "ann", "bob": "bob"}


DIALECTS = {
    "/v1/chat/completions": {"model": "look", "messages": [{"role": "user", "content": "x"}]},
    "/v1/responses": {"model": "look", "input": "x"},
    "/ag-ui": {
        "threadId": "t",
        "runId": "r",
        "messages": [{"id": "m", "role": "user", "content": "x"}],
    },
}


@pytest.mark.parametrize("path", DIALECTS)
async def test_strangers_bring_no_baggage_over_other_protocols(path, spans):
    seen = []

    async def look(text: str) -> str:
        """Look at the baggage."""
        seen.append((baggage.get_all(), trace.get_current_span().get_span_context().trace_id))
        return text

    app = build_app(look, name="look", dialects=["openai", "ag-ui"])
    headers = {"traceparent": STRANGE, "baggage": "customer=ada"}
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        answer = await http.post(path, json=DIALECTS[path], headers=headers)
        assert answer.status_code == 200
    [(brought, trace_id)] = seen
    assert brought == {}
    assert trace_id != int("5" * 32, 16)


@BINDINGS
async def test_a_refused_request_is_a_span_in_a_trace_of_its_own(binding, spans):
    options = ServerOptions(authentication=Everyone(), grpc_port=0)
    async with running(build_app(inner, options=options)) as url:
        agent = agent_of(url, binding)
        with pytest.raises(RemoteAgentError):
            await agent.send("hello", headers={"traceparent": STRANGE})
        await agent.aclose()
    asked = [each for each in spans() if each.kind is SpanKind.SERVER and each.links]
    assert asked
    assert {each.parent for each in asked} == {None}


async def test_traces_of_concurrent_callers_are_separate(spans):
    entered = asyncio.Event()
    waiting = 0

    async def meeting(text: str) -> str:
        """Answer when both callers are here."""
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            entered.set()
        await entered.wait()
        return f"{trace.get_current_span().get_span_context().trace_id:032x}"

    async def ask(remote, name):
        with trace.get_tracer("test").start_as_current_span(name) as span:
            reply = await remote.send(name)
        assert reply.metadata["a2a_adapters.traceparent"].split("-")[1] == reply.text
        return reply.text, f"{span.get_span_context().trace_id:032x}"

    app = build_app(meeting, options=TRUSTING)
    async with running(app) as url, RemoteAgent(url) as remote:
        pairs = await asyncio.gather(ask(remote, "a"), ask(remote, "b"))
    assert all(seen == sent for seen, sent in pairs)
    assert pairs[0] != pairs[1]


def test_opentelemetry_is_optional():
    code = """
import asyncio, sys
sys.modules["opentelemetry"] = None
from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running

async def inner(text: str) -> str:
    return text

async def main():
    async with running(build_app(inner)) as url, RemoteAgent(url) as remote:
        headers = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        reply = await remote.send("hello", headers=headers)
        assert (reply.text, reply.metadata) == ("hello", {})

asyncio.run(main())
print([name for name in sys.modules if "spans" in name or name.startswith("opentelemetry.")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def test_a_resumed_run_links_to_the_run_before(tmp_path, spans):
    def served(adapter):
        limits = Limits(shutdown_seconds=0, sweep_seconds=0.05)
        storage = f"sqlite:///{tmp_path}/agents.db"
        return build_app(adapter, options=ServerOptions(storage=storage, limits=limits))

    first, second = Slow(), Slow()
    async with running(served(first)) as url, RemoteAgent(url) as remote:
        task = await remote.start("hello")
        await first.has_begun.wait()
        before = (await task.status()).metadata["a2a_adapters.traceparent"]
    async with running(served(second)) as url, RemoteAgent(url) as remote:
        await second.has_begun.wait()
        second.may_go_on.set()
        reply = await remote.task(task.id).result()
    assert (second.calls, reply.state) == (["resume"], "completed")
    after = reply.metadata["a2a_adapters.traceparent"]
    resumed = [
        each
        for each in spans()
        if each.kind is SpanKind.INTERNAL and f"{each.context.span_id:016x}" == after.split("-")[2]
    ]
    (link,) = resumed[0].links
    assert f"{link.context.span_id:016x}" == before.split("-")[2]
    assert resumed[0].parent is None
    followed = [each for each in spans() if each.attributes.get("rpc.method") == "SubscribeToTask"]
    assert f"{followed[-1].links[0].context.trace_id:032x}" == after.split("-")[1]
