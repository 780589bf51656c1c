"""Output of hostile MCP servers is shortened and sanitised, and never blocks."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path

import pytest
from a2a_adapters_mcp import McpServer
from a2a_adapters_mcp.serving import connection as connections
from a2a_adapters_mcp.serving.connection import ServerGoneError
from mcp import types
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from a2a_adapters import Data, Progress, RemoteAgent, RemoteOptions, RemoteTaskError, build_app
from a2a_adapters.testing import running
from tests.support.processes import PATIENCE

SERVER = [sys.executable, "-I", "-S", str(Path(__file__).with_name("hostile_server.py"))]


@pytest.fixture
async def agent():
    options = RemoteOptions(progress=True)
    async with (
        running(build_app(McpServer(SERVER))) as url,
        RemoteAgent(url, options=options) as agent,
    ):
        yield agent


def misuse(how):
    return Data({"tool": "misuse", "arguments": {"how": how}})


async def test_the_card_is_clipped(agent):
    card = await agent.card()
    assert [skill.id for skill in card.skills] == ["big", "list", "misuse"]
    assert len(card.SerializeToString()) < 10_000
    texts = [card.name, card.description]
    for skill in card.skills:
        texts += [skill.name, skill.description, *skill.examples]
    assert all(text.isprintable() for text in texts)


@pytest.mark.parametrize("how", ["error", "refusal"])
async def test_errors_are_clipped(agent, how):
    with pytest.raises(RemoteTaskError) as failed:
        await agent.send(misuse(how))
    assert len(str(failed.value)) < 5_000
    assert str(failed.value).isprintable()


async def test_error_output_is_logged_in_printable_lines_of_limited_number(agent, caplog, capfd):
    caplog.set_level("INFO", "a2a_adapters_mcp")
    left_out = threading.Event()
    caplog.handler.addFilter(
        lambda each: "further lines" not in each.getMessage() or not left_out.set()
    )
    assert (await agent.send(misuse("shout"))).text == "shouted"
    assert await asyncio.to_thread(left_out.wait, PATIENCE)
    lines = [each.message for each in caplog.records if each.name.endswith(".stderr")]
    assert lines[0] == f"the command {sys.executable}: fine"
    assert all(line.isprintable() and len(line) < 700 for line in lines)
    assert any(line.endswith(": forged line") for line in lines)
    assert 200 <= len(lines) <= 400  # another minute may begin
    assert "\x1b" not in capfd.readouterr().err


@pytest.mark.parametrize("how", ["nested", "endlessly nested", "strange"])
async def test_unreadable_results_fail_without_affecting_the_next_call(agent, how):
    talk = agent.conversation()
    with pytest.raises(RemoteTaskError, match="Error id"):
        await talk.send(misuse(how))
    assert (await talk.send(misuse("log"))).text == "fine"


async def test_progress_and_questions_are_clipped(agent):
    events = [event async for event in agent.stream(misuse("progress"))]
    [notice] = [event.text for event in events if isinstance(event, Progress)]
    assert len(notice) <= 1_000
    assert notice.isprintable()
    talk = agent.conversation()
    asked = await talk.send(misuse("question"))
    assert len(asked.question) < 5_000
    assert asked.question.isprintable()
    assert (await talk.send("yes")).text == "accept"


async def silent(request):
    """Begin a session, and answer nothing else."""
    body = await request.body()
    if b'"initialize"' not in body:
        await request.receive()  # until the client disconnects
        return Response()
    about = types.InitializeResult(
        protocolVersion=types.LATEST_PROTOCOL_VERSION,
        capabilities=types.ServerCapabilities(),
        serverInfo=types.Implementation(name="silent", version="1"),
    )
    result = about.model_dump(by_alias=True, mode="json", exclude_none=True)
    answer = {"jsonrpc": "2.0", "id": json.loads(body)["id"], "result": result}
    return JSONResponse(answer, headers={"mcp-session-id": "1"})


async def test_a_silent_server_times_out(monkeypatch):
    monkeypatch.setattr(connections, "_CLOSING_SECONDS", 0.01)
    app = Starlette(routes=[Route("/mcp", silent, methods=["POST", "GET", "DELETE"])])
    async with running(app) as url:
        with pytest.raises(ServerGoneError, match="did not answer"):
            async with McpServer(f"{url}/mcp", start_seconds=0.5):
                pass
