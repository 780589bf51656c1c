"""Agents as tools of MCP clients: at `/mcp` of their own port."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode

import httpx
import pytest
from a2a_adapters_mcp import McpTools
from mcp import McpError

from a2a_adapters import (
    AgentRequest,
    ConfigurationError,
    InputRequired,
    Limits,
    ServerOptions,
)
from tests.plugins.mcp import agents
from tests.plugins.mcp.support import (
    TOKENS,
    User,
    as_bearer,
    begin,
    cancelled,
    offered,
    over_http,
    text_of,
)


async def call(tool, arguments, user=None):
    callbacks = {"elicitation_callback": user.answer} if user else {}
    async with offered() as url, over_http(url, **callbacks) as session:
        return await session.call_tool(tool, arguments)


async def test_every_agent_is_a_tool():
    async with offered() as url, over_http(url) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert set(tools) == set(agents.ALL)
    assert tools["shout"].description == "Asks the agent shout: Shouts the text."
    assert tools["shout"].inputSchema["required"] == ["message"]
    assert {"message", "context_id", "task_id"} == set(tools["shout"].inputSchema["properties"])
    assert {"data", "files"} <= set(tools["draw"].inputSchema["properties"])


async def test_a_single_agent_has_its_own_name():
    async with offered(target=agents.shout) as url, over_http(url) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == ["shout"]


def trip(cities: list[agents.Weather], days: int = 3) -> str:
    return f"{days} days in {cities[0].city}"


async def test_data_has_the_schema_of_a_typed_agent():
    async with offered(target=trip) as url, over_http(url) as session:
        [tool] = (await session.list_tools()).tools
        data = {"cities": [{"city": "Oslo", "degrees": 1}], "days": 2}
        result = await session.call_tool("trip", {"data": data})
    properties = tool.inputSchema["properties"]["data"]["properties"]
    assert properties["cities"]["items"] == {"$ref": "#/$defs/Weather"}
    assert set(tool.inputSchema["$defs"]["Weather"]["properties"]) == {"city", "degrees"}
    assert text_of(result) == "2 days in Oslo"


async def test_text_is_text():
    result = await call("shout", {"message": "hello"})
    assert (text_of(result), result.isError, result.structuredContent) == ("HELLO", False, None)


async def test_data_is_structured_content_with_its_schema():
    result = await call("weather", {"message": "Oslo"})
    assert result.structuredContent == {"city": "Oslo", "degrees": 21}
    assert json.loads(text_of(result)) == result.structuredContent
    assert result.meta["a2a-adapters/schemas"] == [agents.Weather.model_json_schema()]


async def test_files_are_sent_and_received():
    sent = [
        {"name": "a.png", "media_type": "image/png", "base64": b64encode(b"png").decode()},
        {"name": "a.wav", "media_type": "audio/wav", "base64": b64encode(b"wav").decode()},
        {"name": "a.bin", "base64": b64encode(b"bin").decode()},
    ]
    result = await call("draw", {"message": "go", "files": sent})
    text, image, audio, blob, link = result.content
    assert text.text == "3 files"
    assert (image.type, b64decode(image.data), image.mimeType) == ("image", b"png", "image/png")
    assert (audio.type, b64decode(audio.data), audio.mimeType) == ("audio", b"wav", "audio/wav")
    assert (blob.type, b64decode(blob.resource.blob)) == ("resource", b"bin")
    assert (link.type, str(link.uri), link.name) == (
        "resource_link",
        "https://files.example/a.pdf",
        "a.pdf",
    )


@pytest.mark.parametrize("media_type", ["text/markdown", "application/json", "image/svg+xml"])
async def test_a_text_file_is_text_with_its_name(media_type):
    sent = {
        "name": "a plan.md",
        "media_type": media_type,
        "base64": b64encode("ö".encode()).decode(),
    }
    result = await call("draw", {"message": "go", "files": [sent]})
    file = result.content[1].resource
    assert (file.text, file.mimeType) == ("ö", media_type)
    assert str(file.uri).endswith("/a%20plan.md")


async def test_a_file_with_invalid_text_is_a_blob():
    sent = {"name": "a.txt", "media_type": "text/plain", "base64": b64encode(b"\xff").decode()}
    result = await call("draw", {"message": "go", "files": [sent]})
    assert b64decode(result.content[1].resource.blob) == b"\xff"


def cities(text: str) -> list[agents.Weather]:
    return [agents.Weather(city=text, degrees=1)]


def maybe(text: str) -> agents.Weather | InputRequired:
    return InputRequired("which city?")


async def test_a_typed_result_has_an_output_schema():
    typed = {"weather": agents.weather, "cities": cities, "shout": agents.shout, "maybe": maybe}
    async with offered(target=typed) as url, over_http(url) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        weather = await session.call_tool("weather", {"message": "Oslo"})
        oslo = await session.call_tool("cities", {"message": "Oslo"})
        asked = await session.call_tool("maybe", {"message": "Oslo"})
    assert set(tools["weather"].outputSchema["properties"]) == {"city", "degrees"}
    assert weather.structuredContent == {"city": "Oslo", "degrees": 21}
    assert oslo.structuredContent == {"data": [[{"city": "Oslo", "degrees": 1}]]}
    assert tools["shout"].outputSchema is None
    assert "which city?" in text_of(asked)


async def test_progress_is_reported():
    error = []

    async def progress(done, _total, message):
        error.append((done, message))

    async with offered() as url, over_http(url) as session:
        result = await session.call_tool("work", {"message": "go"}, progress_callback=progress)
    assert text_of(result) == "done"
    assert error == [(1, "half of it"), (2, "calls search"), (3, "search is done")]


async def test_a_question_is_answered_within_the_call():
    user = User({"answer": "Rome"})
    result = await call("book", {"message": "two"}, user)
    assert text_of(result) == "booked Rome for two"
    assert [asked.message for asked in user.asked] == ["which city?"]


async def test_a_question_with_a_flat_schema_is_a_form():
    user = User({"city": "Rome", "nights": 2})
    result = await call("fill_in", {"message": "go"}, user)
    assert user.asked[0].requestedSchema == agents.FORM
    assert result.structuredContent == {"city": "Rome", "nights": 2}


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_declined_question_ends_the_task(action):
    user = User(action=action)
    async with offered() as url, over_http(url, elicitation_callback=user.answer) as session:
        result = await session.call_tool("book", {"message": "two"})
    assert result.isError
    assert "did not answer" in text_of(result)


async def test_a_client_without_elicitation_answers_with_a_second_call():
    async with offered() as url, over_http(url) as session:
        asked = await session.call_tool("book", {"message": "two"})
        assert not asked.isError
        assert asked.structuredContent["question"] == "which city?"
        assert asked.structuredContent["state"] == "input-required"
        task_id = asked.structuredContent["task_id"]
        assert task_id in text_of(asked)
        result = await session.call_tool("book", {"message": "Rome", "task_id": task_id})
        assert text_of(result) == "booked Rome for two"
        again = await session.call_tool("book", {"message": "Rome", "task_id": task_id})
        assert again.isError


async def test_the_user_opens_the_authorisation_page():
    user = User(None, {})
    result = await call("authorise", {"message": "go"}, user)
    page, done = user.asked
    assert (page.mode, page.url) == ("url", "https://login.example/grant")
    assert page.message == "may I read your mail?"
    assert done.mode == "form"
    assert text_of(result) == "heard: The user reports that the authorisation is done."


async def test_a_declined_authorisation_ends_the_task():
    result = await call("authorise", {"message": "go"}, User(action="decline"))
    assert result.isError


@pytest.mark.parametrize(
    ("tool", "arguments", "error"),
    [
        ("nothing", {"message": "x"}, "unknown tool"),
        ("shout", {}, "pass at least one of"),
        ("shout", {"message": 1}, "message"),
        ("shout", {"message": "x", "other": 1}, "other"),
        ("draw", {"files": [{"base64": "%"}]}, "base64"),
        ("shout", {"message": "x", "task_id": "unknown"}, "not found"),
        ("refuse", {"message": "x"}, "not today"),
    ],
)
async def test_invalid_calls_are_tool_errors(tool, arguments, error):
    result = await call(tool, arguments)
    assert result.isError
    assert error in text_of(result).lower()


async def test_a_failure_reveals_nothing():
    result = await call("fail", {"message": "x"})
    assert result.isError
    assert "Error id" in text_of(result)
    assert "hunter2" not in str(result)


async def test_a_cancelled_call_ends_the_agents_task(folder):
    async with offered() as url, over_http(url) as session:
        request_id = session._request_id
        waiting, ended = await begin(folder, session.call_tool("wait", {"message": "x"}))
        await session.send_notification(cancelled(request_id))
        with pytest.raises(McpError, match="cancelled"):
            await waiting
        assert await ended == "yes"


async def test_a_session_that_ends_ends_its_calls(folder):
    async with offered() as url:
        async with over_http(url) as session:
            waiting, ended = await begin(folder, session.call_tool("wait", {"message": "x"}))
        assert await ended == "yes"
        waiting.cancel()


@pytest.mark.parametrize("leaves", [False, True])
async def test_a_call_that_ends_while_its_user_is_asked_ends_the_agents_task(leaves):
    asked, ended = asyncio.Event(), asyncio.Event()

    async def ask(_request: AgentRequest):
        try:
            yield InputRequired("which city?")
        finally:
            ended.set()

    async def think(_context, _asked):
        asked.set()
        await asyncio.Event().wait()

    async with offered(target={"ask": ask}) as url:
        async with over_http(url, elicitation_callback=think) as session:
            request_id = session._request_id
            waiting = asyncio.create_task(session.call_tool("ask", {"message": "x"}))
            await asked.wait()
            if not leaves:
                await session.send_notification(cancelled(request_id))
                await ended.wait()
        await ended.wait()
        waiting.cancel()


async def test_a_session_is_a_conversation_and_a_context_id_another():
    async with offered() as url, over_http(url) as ann, over_http(url) as bob:

        async def say(session, text, **more):
            return text_of(await session.call_tool("remember", {"message": text, **more}))

        assert await say(ann, "1") == "1"
        assert await say(bob, "2") == "2"
        assert await say(ann, "3") == "1 3"
        assert await say(ann, "4", context_id="other") == "4"
        assert await say(ann, "5", context_id="other") == "4 5"


@pytest.mark.thorough
async def test_sixteen_clients_are_never_mixed():
    async def converse(url, number):
        user = User(*({"answer": f"city {number}"} for _ in range(3)))
        received = []

        async def progress(_done, _total, message):
            received.append(message)

        async with over_http(url, elicitation_callback=user.answer) as session:
            for turn in range(3):
                said = f"{number}.{turn}"
                result = await session.call_tool("remember", {"message": said})
                before = [f"{number}.{each}" for each in range(turn)]
                assert text_of(result) == " ".join([*before, said])
                booked = await session.call_tool("book", {"message": said})
                assert text_of(booked) == f"booked city {number} for {said}"
                await session.call_tool("work", {"message": said}, progress_callback=progress)
            assert len(received) == 9

    async with offered() as url:
        await asyncio.gather(*(converse(url, number) for number in range(16)))


async def test_callers_are_authenticated_like_callers_of_the_agent():
    async with offered(options=TOKENS) as url:
        with pytest.raises(BaseExceptionGroup):
            async with over_http(url):
                pass
        async with (
            over_http(url, headers=as_bearer("ann")) as ann,
            over_http(url, headers=as_bearer("bob")) as bob,
        ):
            first = await ann.call_tool("remember", {"message": "secret", "context_id": "one"})
            other = await bob.call_tool("remember", {"message": "hello", "context_id": "one"})
            assert (text_of(first), text_of(other)) == ("secret", "hello")
            asked = await ann.call_tool("book", {"message": "two"})
            task_id = asked.structuredContent["task_id"]
            stolen = await bob.call_tool("book", {"message": "Rome", "task_id": task_id})
            assert stolen.isError
            assert "two" not in text_of(stolen)


def test_tools_are_made_by_agent_or_by_skill():
    with pytest.raises(ConfigurationError, match="must be 'agent' or 'skill'"):
        McpTools("magic")


@pytest.mark.parametrize("name", ["sessions", "sessions_per_caller", "idle_seconds"])
@pytest.mark.parametrize("bound", [0, -1, float("nan"), float("inf")])
def test_limits_must_be_positive(name, bound):
    with pytest.raises(ConfigurationError, match=f"{name} must be (a |greater|finite)"):
        McpTools(**{name: bound})


async def test_a_disconnect_is_not_logged_as_an_error(caplog):
    await call("shout", {"message": "hello"})
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_bodies_are_limited_and_foreign_origins_refused():
    limits = ServerOptions(limits=Limits(body_bytes=10_000, values=100))
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with offered(options=limits) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:

        async def status(body, **headers):
            headers = {"Accept": "application/json, text/event-stream", **headers}
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            answer = await http.post(
                "/mcp", content=sent, headers={"Content-Type": "application/json", **headers}
            )
            assert "Traceback" not in answer.text
            return answer.status_code

        assert await status({**ping, "params": {"x": "y" * 10_000}}) == 413
        assert await status({**ping, "params": {"x": [0] * 200}}) == 413
        assert await status(ping, Origin="https://evil.example") == 403
        assert await status(ping, Host="evil.example") in {400, 403, 421}
        for wrong in (b"", b"{", b"[" * 9_000, b"null", b"[]", b'{"jsonrpc": "2.0"}', b"\xff"):
            assert 400 <= await status(wrong) < 500
