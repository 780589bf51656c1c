"""`OmniRouteClient` with recorded answers of a real gateway, and with a documented gateway."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack

import a2a_adapters_omniroute as omni
import pytest
from a2a_adapters_omniroute import OmniRouteClient, OmniRouteReply, Routing
from starlette.applications import Starlette
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from a2a_adapters import (
    A2AAdaptersError,
    ConfigurationError,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteTimeoutError,
    TextDelta,
)
from a2a_adapters.testing import running
from tests.plugins.omniroute.gateways import (
    COSTS,
    EXCHANGES,
    KEY,
    Described,
    answering,
    recorded,
    replaying,
)

PROVIDER = (omni.OmniRouteProviderError, {"status": 400, "retryable": False})
BUSY = (omni.OmniRouteProviderError, {"status": 503, "retryable": True})
TIMED_OUT = (omni.OmniRouteProviderError, {"status": 0, "retryable": True})
EMPTY = (omni.OmniRouteProviderError, {"status": 502, "retryable": True})
REFUSED = (omni.OmniRouteRefusedError, {"code": -32602})
UNKNOWN_METHOD = (omni.OmniRouteRefusedError, {"code": -32601})
INVALID = (omni.OmniRouteRefusedError, {"code": -32600})
NOT_JSON = (omni.OmniRouteRefusedError, {"code": -32700})
CANCELLED_SEND = (omni.OmniRouteCancelledError, {})
ERRORS = {
    "send unknown model": PROVIDER,
    "send empty reply": EMPTY,
    "err unknown skill": (omni.OmniRouteUnknownSkillError, {"code": -32601}),
    "err no messages": REFUSED,
    "err no params": REFUSED,
    "err empty messages": REFUSED,
    "err empty content": REFUSED,
    "err content as parts list": REFUSED,
    "err unknown method": UNKNOWN_METHOD,
    "err unknown method v1": UNKNOWN_METHOD,
    "err bad json": NOT_JSON,
    "err empty body": NOT_JSON,
    "err no jsonrpc": INVALID,
    "err array batch": INVALID,
    "err body null": CANCELLED_SEND,
    "err missing auth": (omni.OmniRouteAuthError, {}),
    "err wrong auth": (omni.OmniRouteAuthError, {}),
    "err upstream 500": (omni.OmniRouteProviderError, {"status": 500, "retryable": True}),
    "err upstream 401": BUSY,
    "err upstream 429": BUSY,
    "tasks/get unknown": (omni.OmniRouteTaskNotFoundError, {}),
    "tasks/get no id": REFUSED,
    "tasks/cancel completed": (omni.OmniRouteTaskFinishedError, {}),
    "tasks/cancel unknown": (omni.OmniRouteTaskNotFoundError, {}),
    "tasks/cancel no id": REFUSED,
    "tasks/cancel twice (message/send)": (omni.OmniRouteTaskFinishedError, {}),
    "tasks/cancel twice (message/stream)": (omni.OmniRouteTaskFinishedError, {}),
    "stream unknown skill": (omni.OmniRouteUnknownSkillError, {}),
    "stream missing auth": (omni.OmniRouteAuthError, {}),
    "stream empty reply": EMPTY,
    "stream unknown model": PROVIDER,
    "message/send cancelled while running": CANCELLED_SEND,
    "message/stream cancelled while running": (omni.OmniRouteCancelledError, {}),
    "send 31s (skill timeout is 30 s)": TIMED_OUT,
    "stream 31s (skill timeout is 30 s)": TIMED_OUT,
    "GET /a2a": (omni.OmniRouteAnswerError, {"status": 405}),
    "OPTIONS /a2a": (omni.OmniRouteAnswerError, {"status": 204}),
    "agent card agent-card.json": (omni.OmniRouteAnswerError, {"status": 404}),
    "agent card agent.json": (omni.OmniRouteAnswerError, {"status": 200}),
}
TASKS = sorted(name for name in EXCHANGES if name.startswith("tasks/") and name not in ERRORS)
NO_CALLS = {name for name in EXCHANGES if name.startswith(("GET /api", "stream: bytes"))}
REPLIES = sorted(EXCHANGES.keys() - ERRORS.keys() - set(TASKS) - NO_CALLS - {"POST /a2a/"})
NAMES = list(EXCHANGES)
KINDS = ["sync", "async", "stream", "stream_sync"]


async def call(client, kind, text="hi", metadata=None):
    """Send a text in one of the four ways; return the reply and the streamed text."""
    match kind:
        case "async":
            return await client.send("smart-routing", text, metadata), None
        case "sync":
            return await asyncio.to_thread(client.send_sync, "smart-routing", text, metadata), None
        case "stream":
            events = [e async for e in client.stream("smart-routing", text, metadata)]
        case _:
            read = lambda: list(client.stream_sync("smart-routing", text, metadata))  # noqa: E731
            events = await asyncio.to_thread(read)
    deltas = [each.text for each in events if isinstance(each, TextDelta)]
    assert [type(each) for each in events] == [TextDelta] * len(deltas) + [OmniRouteReply]
    return events[-1], "".join(deltas)


@pytest.fixture
async def gateways():
    """Yield a factory of clients for a gateway that replays an exchange."""
    async with running(replaying()) as url, AsyncExitStack() as stack:

        async def client_of(name):
            return await stack.enter_async_context(OmniRouteClient(f"{url}/{NAMES.index(name)}"))

        yield client_of


def kinds(name):
    """Return the calls that an exchange answers."""
    return KINDS[2:] if any("frame" in f for f in EXCHANGES[name].get("frames", [])) else KINDS


async def test_every_recorded_error_is_a_typed_one(gateways, subtests):
    for name, (error, attributes) in ERRORS.items():
        client = await gateways(name)
        for kind in kinds(name):
            with subtests.test(f"{name}, {kind}"):
                with pytest.raises(error) as caught:
                    await call(client, kind)
                assert isinstance(caught.value, A2AAdaptersError)
                assert {key: getattr(caught.value, key) for key in attributes} == attributes


async def test_every_recorded_answer_is_read(gateways, subtests):
    for name in REPLIES:
        client = await gateways(name)
        expected, metadata = recorded_answer(EXCHANGES[name])
        for kind in kinds(name):
            with subtests.test(f"{name}, {kind}"):
                reply, streamed = await call(client, kind)
                assert (reply.text, streamed or expected) == (expected, expected)
                assert reply.metadata == metadata
                assert reply.task_id
                if "routing_explanation" in metadata:
                    assert reply.routing_explanation.startswith("Selected ")
                    assert reply.cost_envelope["currency"] == "USD"
                    assert reply.policy_verdict["allowed"] is True
                    assert reply.resilience_trace[0]["event"] == "primary_selected"
                else:
                    reported = (
                        reply.routing_explanation,
                        reply.cost_envelope,
                        reply.resilience_trace,
                    )
                    assert reported == ("", {}, ())


def recorded_answer(exchange):
    if "body" in exchange:
        result = exchange["body"]["result"]
        return result["artifacts"][0]["content"], result["metadata"]
    events = [json.loads(f["frame"][6:])["params"] for f in data_frames(exchange)]
    return events[0]["chunk"]["content"], events[-1]["metadata"]


def data_frames(exchange):
    return [frame for frame in exchange["frames"] if frame["frame"].startswith("data: ")]


async def test_every_recorded_task_is_read(gateways, subtests):
    for name in TASKS:
        with subtests.test(name):
            sent = EXCHANGES[name]["body"]["result"]["task"]
            client = await gateways(name)
            ask = client.cancel_task if name.startswith("tasks/cancel") else client.get_task
            task = await ask(sent["id"])
            events = sent.get("events", [])
            assert (task.id, task.state) == (sent["id"], sent["state"])
            assert task.is_finished == (sent["state"] in ("completed", "cancelled"))
            assert [each["state"] for each in task.events] == [e["state"] for e in events]
            assert task.text == "".join(a["content"] for a in sent.get("artifacts", []))


async def test_it_reads_the_card():
    async with running(replaying()) as url:
        card = await asyncio.to_thread(OmniRouteClient(f"{url}/0/").discover_sync)
    assert (card.name, card.version, card.streaming) == ("OmniRoute AI Gateway", "1.8.1", True)
    assert [skill.id for skill in card.skills][:2] == ["smart-routing", "quota-management"]
    assert card.skills[0].tags


@pytest.mark.parametrize("body", ["<html>", "[]", "{}", '{"name": 3}'])
async def test_an_invalid_card_is_an_error(body):
    async def card(_request):
        return Response(body)

    app = Starlette(routes=[Route("/.well-known/agent.json", card)])
    async with running(app) as url, OmniRouteClient(url) as client:
        with pytest.raises(RemoteAnswerError):
            await client.discover()


@pytest.mark.parametrize("kind", KINDS)
async def test_the_error_for_disabled_a2a_names_the_remedy(kind):
    error = {"code": -32000, "message": "A2A endpoint is disabled. Enable it from the page."}
    app = answering({"jsonrpc": "2.0", "id": "1", "error": error}, status=503)
    async with running(app) as url, OmniRouteClient(url) as client:
        with pytest.raises(omni.OmniRouteNotEnabledError, match="dashboard"):
            await call(client, kind)
        await asyncio.to_thread(client.close)


@pytest.mark.parametrize(
    ("code", "type_"),
    [(-32004, omni.OmniRouteBudgetError), (-32005, omni.OmniRouteProviderError)],
)
@pytest.mark.parametrize("data", [{"task": {"id": "t9", "state": "failed"}}, {"task": 3}, "x"])
async def test_an_error_holds_its_data(code, type_, data):
    trace = [{"event": "primary_selected"}]
    if is_known := data == {"task": {"id": "t9", "state": "failed"}}:
        data = {**data, "metadata": {"resilience_trace": trace}}
    error = {"code": code, "message": "no", "data": data}
    async with (
        running(answering({"id": "1", "error": error})) as url,
        OmniRouteClient(url) as client,
    ):
        with pytest.raises(type_) as caught:
            await client.send("smart-routing", "hi")
    assert caught.value.task_id == ("t9" if is_known else "")
    assert (caught.value.reply is not None) == is_known
    assert not is_known or caught.value.reply.resilience_trace == trace


@pytest.mark.parametrize("ending", ["", "/", "/a2a", "/a2a/"])
async def test_the_address_may_end_in_any_way(ending):
    n = NAMES.index("send full")
    async with running(replaying()) as url, OmniRouteClient(f"{url}/{n}{ending}") as client:
        assert (await client.send("smart-routing", "hi")).text


@pytest.mark.parametrize("url", ["nowhere", "ftp://host", "http://user:secret@host"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(ConfigurationError):
        OmniRouteClient(url)


async def test_a_redirect_is_followed_on_the_same_host_only():
    seen = []

    async def gateway(request):
        return RedirectResponse("/moved", 308)

    async def moved(request):
        seen.append((request.headers["authorization"], await request.body()))
        return recorded("send full")

    async def away(request):
        return RedirectResponse("http://elsewhere.example/a2a", 308)

    routes = [
        Route("/a2a", gateway, methods=["POST"]),
        Route("/moved", moved, methods=["POST"]),
        Route("/away/a2a", away, methods=["POST"]),
    ]
    async with running(Starlette(routes=routes)) as url:
        async with OmniRouteClient(url, api_key=KEY) as client:
            assert (await client.send("smart-routing", "hi")).text
        async with OmniRouteClient(f"{url}/away", api_key=KEY) as client:
            with pytest.raises(omni.OmniRouteAnswerError, match="elsewhere"):
                await client.send("smart-routing", "hi")
    assert seen[0][0] == f"Bearer {KEY}"
    assert b"smart-routing" in seen[0][1]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("refuse the budget", omni.OmniRouteBudgetError),
        ("nobody there", omni.OmniRouteProviderError),
        ("say nothing", omni.OmniRouteAnswerError),
    ],
)
async def test_the_errors_of_the_description(text, error):
    async with running(Described().app()) as url, OmniRouteClient(url, api_key=KEY) as client:
        with pytest.raises(error) as caught:
            await client.send("smart-routing", text)
    assert getattr(caught.value, "retryable", True)


async def test_an_answer_over_budget_is_not_lost():
    async with running(Described().app()) as url, OmniRouteClient(url, api_key=KEY) as client:
        with pytest.raises(omni.OmniRouteBudgetError, match="over budget") as caught:
            await client.send("smart-routing", "too expensive")
    assert caught.value.reply.text == "too expensive"
    assert caught.value.reply.cost_envelope == COSTS["cost_envelope"]


async def test_a_wrong_key_of_either_kind():
    async with running(Described().app()) as url, OmniRouteClient(url, api_key="wrong") as client:
        with pytest.raises(RemoteAuthError):
            await client.send("smart-routing", "hi")
    app = answering("Forbidden", status=403, media_type="text/plain")
    async with running(app) as url, OmniRouteClient(url) as client:
        with pytest.raises(omni.OmniRouteAuthError):
            await client.send("smart-routing", "hi")


@pytest.mark.parametrize("kind", ["stream", "stream_sync"])
async def test_tokens_are_yielded_as_they_come(kind):
    async with running(Described().app()) as url, OmniRouteClient(url, api_key=KEY) as client:
        reply, streamed = await call(client, kind, "a b c")
        await asyncio.to_thread(client.close)
    assert reply.text == streamed == "a b c"
    assert reply.metadata == COSTS


async def test_sent_requests():
    gateway = Described()
    routing = Routing(model="m", combo="fast", budget=0.5, role="coding")
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    async with running(gateway.app()) as url, OmniRouteClient(url, api_key=lambda: KEY) as client:
        await client.send("smart-routing", messages, routing.metadata())
        await client.quota("anything free?")
    sent = [each["params"] for each in gateway.calls]
    metadata = {"model": "m", "combo": "fast", "budget": 0.5, "role": "coding"}
    assert sent[0] == {"skill": "smart-routing", "messages": messages, "metadata": metadata}
    question = [{"role": "user", "content": "anything free?"}]
    assert sent[1] == {"skill": "quota-management", "messages": question}
    assert len({each["id"] for each in gateway.calls}) == 2


def test_a_combo_can_be_sent_as_the_model():
    assert Routing().metadata() == {"model": "auto"}
    assert Routing(combo="fast", combo_as_model=True).metadata() == {
        "model": "fast",
        "combo": "fast",
    }


async def test_waiting_for_a_task():
    gateway = Described()
    gateway.tasks = {"t1": ["submitted", "working", "completed"], "t2": ["cancelled"]}
    async with running(gateway.app()) as url, OmniRouteClient(url, api_key=KEY) as client:
        assert (await client.wait("t1", interval=0)).text == "done"
        with pytest.raises(omni.OmniRouteCancelledError):
            await asyncio.to_thread(client.wait_sync, "t2")
        with pytest.raises(omni.OmniRouteTaskNotFoundError):
            await client.wait("t3")
        with pytest.raises(omni.OmniRouteTaskFinishedError):
            await asyncio.to_thread(client.cancel_task_sync, "t1")
        await asyncio.to_thread(client.close)


async def test_a_task_that_takes_too_long_is_cancelled():
    gateway = Described()
    gateway.tasks = {"t1": ["working"]}
    async with running(gateway.app()) as url, OmniRouteClient(url, api_key=KEY) as client:
        with pytest.raises(RemoteTimeoutError, match="cancelled"):
            await client.wait("t1", timeout=0.1, interval=0.01)
        await asyncio.wait_for(gateway.is_cancelled.wait(), 60)


async def test_a_task_that_is_not_done_is_asked_for_again():
    task = {"task": {"id": "t9", "state": "working"}, "artifacts": []}
    parts = [{"type": "text", "content": "done"}]
    done = {"task": {"id": "t9", "state": "completed", "artifacts": parts}}
    app = answering(*({"jsonrpc": "2.0", "id": "1", "result": each} for each in (task, done)))
    async with running(app) as url, OmniRouteClient(url) as client:
        reply = await client.send("smart-routing", "hi")
    assert (reply.text, reply.task_id) == ("done", "t9")


async def test_one_client_serves_threads_and_loops_at_once():
    async with running(Described().app()) as url:
        client = OmniRouteClient(url, api_key=KEY)
        kinds = [KINDS[n % 4] for n in range(40)]
        calls = (call(client, kind, f"n{n}", {"model": "m"}) for n, kind in enumerate(kinds))
        replies = await asyncio.gather(*calls)
        await client.aclose()
        await asyncio.to_thread(client.close)
    texts = [reply.text.strip().removeprefix("m: ") for reply, _ in replies]
    assert texts == [f"n{n}" for n in range(40)]
