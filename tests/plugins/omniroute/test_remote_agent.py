"""A gateway as a remote agent: metadata in and out, typed errors."""

from __future__ import annotations

import asyncio

import a2a_adapters_omniroute as omni
import pytest
from a2a_adapters_autogen import A2AChatCompletionClient
from a2a_adapters_langchain import A2ALLM, A2AChatModel, A2ATool
from a2a_adapters_omniroute import omniroute_card
from autogen_core.models import AssistantMessage, UserMessage
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from typer.testing import CliRunner

from a2a_adapters import (
    BearerAuth,
    Data,
    File,
    RemoteAgent,
    RemoteAnswerError,
    Text,
    TextDelta,
    build_app,
)
from a2a_adapters.cli import app as command_line
from a2a_adapters.testing import running
from tests.plugins.omniroute.gateways import (
    CARD,
    COSTS,
    EXCHANGES,
    KEY,
    Described,
    answering,
    chunk,
    event,
    recorded,
    replaying,
    sse,
)

NAMES = list(EXCHANGES)


def agent_of(url):
    return RemoteAgent(url, auth=BearerAuth(KEY))


@pytest.mark.parametrize("ending", ["", "/", "/a2a", "/a2a/", "/.well-known/agent.json"])
async def test_all_urls_of_a_gateway_work(ending):
    async with running(Described().app()) as url, agent_of(url + ending) as agent:
        reply = await agent.send("a b")
        assert (reply.text, reply.state, reply.task_id) == ("a b", "completed", "t1")
        assert reply.metadata == COSTS
        assert (await agent.describe()).name == "OmniRoute AI Gateway"


async def test_an_endpoint_without_a_gateway_is_refused():
    async with running(Starlette()) as url, RemoteAgent(f"{url}/a2a") as agent:
        with pytest.raises(RemoteAnswerError, match="there is no agent card"):
            await agent.send("hi")


async def test_a_gateway_is_called_at_its_own_url_despite_its_card():
    gateway = Described()

    async def card(_request):
        return JSONResponse({**CARD, "url": "http://localhost:1/a2a"})

    routes = [
        Route("/gw/a2a", gateway.answer, methods=["POST"]),
        Route("/gw/.well-known/agent.json", card),
    ]
    async with running(Starlette(routes=routes)) as url, agent_of(f"{url}/gw") as agent:
        assert (await agent.send("a")).text == "a"


async def test_a_gateway_beside_an_agent_is_selected_by_its_card():
    def echo(text: str) -> str:
        return f"echo: {text}"

    async with running(build_app(echo, dialects=["omniroute"])) as url:
        async with RemoteAgent(url) as agent, RemoteAgent(omniroute_card(url)) as gateway:
            assert (await agent.send("x")).context_id
            reply = await gateway.send("x")
        async with RemoteAgent(f"{url}/a2a") as found:
            assert (await found.send("y")).context_id == ""
    assert (reply.text, reply.context_id) == ("echo: x", "")


async def test_parameters_and_roles_are_metadata():
    gateway = Described()
    asked = {"model": "m", "combo": "fast", "budget": 1, "role": "coding", "skill": "other"}
    said = [Text("s", metadata={"role": "system"}), Text("u", metadata={"role": "user"}), Text("v")]
    async with running(gateway.app()) as url, agent_of(url) as agent:
        await agent.send(said, metadata=asked)
        await agent.send([Text("a"), Data({"b": 1})], metadata={"skill_id": "quota-management"})
        await agent.send("c")
        with pytest.raises(omni.OmniRouteRefusedError, match="not files"):
            await agent.send(File(content=b"x"))
    roles = [("system", "s"), ("user", "u"), ("user", "v")]
    sent = [call["params"] for call in gateway.calls]
    assert sent == [
        {
            "skill": "other",
            "messages": [{"role": role, "content": text} for role, text in roles],
            "metadata": {"model": "m", "combo": "fast", "budget": 1, "role": "coding"},
        },
        {
            "skill": "quota-management",
            "messages": [{"role": "user", "content": 'a\n{"b":1}'}],
        },
        {"skill": "smart-routing", "messages": [{"role": "user", "content": "c"}]},
    ]


async def test_errors_stay_typed(subtests):
    errors = {
        "refuse the budget": omni.OmniRouteBudgetError,
        "too expensive": omni.OmniRouteBudgetError,
        "nobody there": omni.OmniRouteProviderError,
        "say nothing": omni.OmniRouteAnswerError,
    }
    async with running(Described().app()) as url, agent_of(url) as agent:
        for text, error in errors.items():
            with subtests.test(text), pytest.raises(error):
                await agent.send(text)
        with pytest.raises(omni.OmniRouteTaskNotFoundError):
            await agent.get_task("nope")
        async with RemoteAgent(url) as stranger:
            with pytest.raises(omni.OmniRouteAuthError):
                await stranger.send("hi")


async def test_leaving_a_stream_cancels_its_task():
    gateway = Described()
    async with running(gateway.app()) as url, agent_of(url) as agent:
        events = agent.stream("a", metadata={"role": "endless"})
        assert await anext(events) == TextDelta("a")
        await events.aclose()
        await asyncio.wait_for(gateway.is_cancelled.wait(), 60)


async def test_a_broken_stream_is_polled():
    half = sse(chunk("half"))
    parts = [{"type": "text", "content": "half and half"}]
    task = {"id": "t1", "state": "completed", "artifacts": parts}

    async def answer(request):
        call = await request.json()
        if call["method"] == "message/stream":
            return answering_stream(half)
        return JSONResponse({"jsonrpc": "2.0", "id": call["id"], "result": {"task": task}})

    app = Starlette(routes=[Route("/a2a", answer, methods=["POST"])])
    async with running(app) as url, RemoteAgent(omniroute_card(url)) as agent:
        events = [each async for each in agent.stream("x")]
    assert "".join(each.text for each in events[:-1]) == "half and half"
    assert events[-1].text == "half and half"


def answering_stream(text):
    from starlette.responses import Response

    return Response(text, media_type="text/event-stream")


async def test_a_card_without_streaming_uses_send():
    async def card(_request):
        return JSONResponse({**CARD, "capabilities": {"streaming": False}})

    gateway = Described()
    routes = [
        Route("/a2a", gateway.answer, methods=["POST"]),
        Route("/.well-known/agent.json", card),
    ]
    async with running(Starlette(routes=routes)) as url, agent_of(url) as agent:
        assert (await agent.send("a", metadata={"model": "m"})).text == "m: a"
        with pytest.raises(omni.OmniRouteBudgetError) as caught:
            await agent.send("too expensive")
    assert caught.value.reply.cost_envelope == COSTS["cost_envelope"]
    assert [call["method"] for call in gateway.calls] == ["message/send"] * 2


async def test_a_cancelled_send_is_reported():
    async def card(request):
        return JSONResponse({**CARD, "capabilities": {"streaming": False}})

    async def answer(request):
        return recorded("message/send cancelled while running")

    routes = [Route("/a2a", answer, methods=["POST"]), Route("/.well-known/agent.json", card)]
    async with running(Starlette(routes=routes)) as url, RemoteAgent(url) as agent:
        with pytest.raises(omni.OmniRouteCancelledError):
            await agent.send("x")


async def test_files_in_an_answer_are_files():
    picture = {"type": "file", "content": "https://x.example/a.png", "mimeType": "image/png"}
    stream = sse(
        chunk("see"),
        event("working", chunk=picture),
        event("working", chunk={"type": "file", "content": "YWJj", "name": "a.bin"}),
        chunk(" this"),
        event("completed"),
    )
    app = answering(stream, media_type="text/event-stream")
    async with running(app) as url, RemoteAgent(omniroute_card(url)) as agent:
        reply = await agent.send("x")
    assert reply.text == "see this"
    assert reply.files == [
        File(url="https://x.example/a.png", media_type="image/png"),
        File(content=b"abc", filename="a.bin"),
    ]


async def test_langchain_models_work_with_it():
    gateway = Described()
    async with running(gateway.app()) as url, agent_of(url) as agent:
        chat, llm = A2AChatModel(agent=agent), A2ALLM(agent=agent)
        config = {"configurable": {"thread_id": "t"}}
        first = await chat.ainvoke("a b", config, message_metadata={"model": "m"})
        assert first.text == "m: a b"
        assert first.response_metadata["metadata"] == COSTS
        said = [SystemMessage("s"), HumanMessage("a"), AIMessage("b"), HumanMessage("c")]
        await chat.ainvoke(said, config)
        assert await llm.ainvoke("a", message_metadata={"skill": "other"}) == "a"
        tool = (await A2ATool.aper_skill(agent))[1]
        assert await tool.ainvoke({"message": "free?"}) == "free?"
    sent = [call["params"] for call in gateway.calls]
    assert sent[0]["metadata"] == {"model": "m"}
    assert sent[1]["messages"][0]["content"] == "System: s\nUser: a\nAssistant: b\nUser: c"
    assert [each["skill"] for each in sent[2:]] == ["other", "quota-management"]


async def test_an_autogen_client_sends_all_messages_because_it_stores_none():
    gateway = Described()
    async with running(gateway.app()) as url, agent_of(url) as agent:
        client = A2AChatCompletionClient(agent)
        said = [UserMessage(content="a", source="user")]
        result = await client.create(said, extra_create_args={"message_metadata": {"model": "m"}})
        said += [
            AssistantMessage(content=result.content, source="x"),
            UserMessage(content="b", source="user"),
        ]
        await client.create(said)
    texts = [call["params"]["messages"][0]["content"] for call in gateway.calls]
    assert texts == ["a", "User: a\nx: m: a\nUser: b"]
    assert gateway.calls[0]["params"]["metadata"] == {"model": "m"}


async def test_the_command_line_calls_it():
    async with running(replaying()) as url:
        address = f"{url}/{NAMES.index('stream')}"
        done = await asyncio.to_thread(CliRunner().invoke, command_line, ["send", address, "x"])
    assert done.stdout.strip() == "mock reply to: Explain quantum computing"
