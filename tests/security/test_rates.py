"""Limits per caller: requests per minute, and running messages."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import grpc
import grpc.aio
import httpx
import pytest
from a2a.types import GetTaskRequest
from a2a.types.a2a_pb2_grpc import A2AServiceStub
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from a2a_adapters import BearerTokens, Limits, ServerOptions, build_app
from a2a_adapters.net.addresses import share_of
from a2a_adapters.security.rates import RequestRates
from a2a_adapters.testing import running
from tests.plugins.ag_ui.served import asked
from tests.support.grpc_agents import refusal
from tests.support.requests import V1, client_of, grpc_port, rpc, say

TOKENS = BearerTokens({"ann": "ann", "bob": "bob"})
ANN, BOB = ({"Authorization": f"Bearer {user}", **V1} for user in ("ann", "bob"))
WAYS = {
    "JSON-RPC": ("/", rpc("SendMessage", say("hello"))),
    "HTTP+JSON": ("/message:send", say("hello")),
    "0.3": ("/v1/message:send", {"request": {"content": [{"text": "hello"}]}}),
    "omniroute": ("/a2a", rpc("message/send", {"message": {"content": "hello"}})),
    "agno": ("/a2a/message/send", rpc("message/send", say("hello"))),
    "openai": ("/v1/responses", {"model": "echo", "input": "hello"}),
    "ag-ui": ("/ag-ui", asked("hello")),
    "mcp": ("/mcp", rpc("tools/list", {})),
    "the console's": ("/", rpc("ListTasks", {})),
}


@pytest.fixture(autouse=True)
def one_minute(monkeypatch):
    """Stop the clock ten seconds before the next minute."""
    clock = SimpleNamespace(now=50.0)
    monkeypatch.setattr("a2a_adapters.security.rates.time", SimpleNamespace(time=lambda: clock.now))
    return clock


async def echo(text):
    return text


@asynccontextmanager
async def serving(target=echo, *, dialects=(), **numbers):
    limits = Limits(**numbers)
    options = ServerOptions(authentication=TOKENS, limits=limits, grpc_port=0)
    app = build_app(target, options=options, dialects=dialects)
    async with client_of(app) as http:
        yield http, app


@pytest.mark.parametrize(("path", "body"), WAYS.values(), ids=WAYS)
async def test_the_requests_of_a_caller_per_minute_are_limited(path, body, one_minute):
    dialects = ["omniroute", "agno", "mcp", "openai", "ag-ui"]
    async with serving(dialects=dialects, requests_per_minute=3) as (http, _):
        for _ in range(3):
            assert (await http.get("/tasks", headers=ANN)).status_code == 200
        refused = await http.post(path, json=body, headers=ANN)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
        assert "a caller may send 3 requests per minute" in refused.text
        assert refused.json().keys() & {"error", "detail"}
        assert (await http.post(path, json=body, headers=BOB)).status_code != 429
        one_minute.now += 10
        assert (await http.post(path, json=body, headers=ANN)).status_code != 429


async def test_it_is_counted_over_grpc_as_well():
    async with (
        serving(requests_per_minute=2) as (http, app),
        grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port(app)}") as channel,
    ):
        for _ in range(2):
            assert (await http.get("/tasks", headers=ANN)).status_code == 200
        ann, bob = ((("a2a-version", "1.0"), ("authorization", f"Bearer {u}")) for u in TWO)
        stub = A2AServiceStub(channel)
        code, info, _ = await refusal(stub.GetTask(GetTaskRequest(id="x"), metadata=ann))
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert info.metadata == {"retryAfterSeconds": "10"}
        code, _, _ = await refusal(stub.GetTask(GetTaskRequest(id="x"), metadata=bob))
        assert code is grpc.StatusCode.NOT_FOUND


TWO = ("ann", "bob")


async def test_anonymous_callers_on_this_machine_are_not_counted():
    app = build_app(echo, options=ServerOptions(limits=Limits(requests_per_minute=1)))
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        answers = [await http.get("/tasks", headers=V1) for _ in range(5)]
    assert {answer.status_code for answer in answers} == {200}


async def test_anonymous_callers_elsewhere_are_counted_by_address():
    app = build_app(
        echo, options=ServerOptions(limits=Limits(requests_per_minute=1), allowed_hosts=["*"])
    )

    async def status(host):
        transport = httpx.ASGITransport(app, client=(host, 5000))
        async with httpx.AsyncClient(transport=transport, base_url="http://agent") as http:
            return (await http.get("/tasks", headers=V1)).status_code

    hosts = ["93.184.216.34", "93.184.216.34", "203.0.113.9", "2001:db8::1", "2001:db8::2"]
    assert [await status(host) for host in hosts] == [200, 429, 200, 200, 429]


@pytest.mark.parametrize("named", ["", "203.0.113.1"])
async def test_the_clients_of_a_proxy_that_is_not_trusted_are_not_counted(named):
    options = ServerOptions(
        limits=Limits(requests_per_minute=1), allowed_hosts=["*"], trust_forwarded=True
    )
    app = build_app(echo, options=options)
    transport = httpx.ASGITransport(app, client=("10.0.0.5", 5000))
    headers = {**V1, "X-Forwarded-For": named}
    async with httpx.AsyncClient(transport=transport, base_url="http://agent") as http:
        answers = [await http.get("/tasks", headers=headers) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3


async def test_clients_that_a_trusted_proxy_names_are_counted():
    limits = Limits(requests_per_minute=1)
    options = ServerOptions(limits=limits, trust_forwarded=True)
    app = build_app(echo, options=options)
    wrapped = ProxyHeadersMiddleware(app)  # as `serve` does

    async def status(host):
        transport = httpx.ASGITransport(wrapped)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            headers = {**V1, "X-Forwarded-For": host}
            return (await http.get("/tasks", headers=headers)).status_code

    hosts = ["203.0.113.1", "203.0.113.1", "203.0.113.2"]
    assert [await status(host) for host in hosts] == [200, 429, 200]


async def test_by_default_a_busy_service_is_not_refused(one_minute):
    rates = RequestRates(Limits().requests_per_minute)
    one_minute.now = 60.0
    assert not any(rates.refusal("gateway") for _ in range(60 * 500))


async def test_one_caller_cannot_take_all_places():
    gate = asyncio.Event()

    async def slow(text):
        await gate.wait()
        return text

    async with serving(slow, runs=2, queued_runs=4) as (http, _):

        async def begin(headers):
            body = {**say("x"), "configuration": {"returnImmediately": True}}
            return await http.post("/message:send", json=body, headers=headers)

        mine = [(await begin(ANN)).status_code for _ in range(5)]
        assert mine == [200] * 3 + [503] * 2
        assert [(await begin(BOB)).status_code for _ in range(4)] == [200] * 3 + [503]
        gate.set()
        async with asyncio.timeout(60):
            while (await begin(ANN)).status_code == 503:
                pass


@pytest.mark.parametrize(
    ("host", "share"),
    [
        ("127.0.0.1", ""),
        ("::1", ""),
        ("::ffff:127.0.0.1", ""),
        ("unix", ""),
        ("", ""),
        ("93.184.216.34", "93.184.216.34"),
        ("::ffff:93.184.216.34", "93.184.216.34"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_a_share_is_an_address_or_a_customers_network(host, share):
    assert share_of(host) == share
