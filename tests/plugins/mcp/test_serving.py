"""MCP servers of the official SDK as agents: over stdio, and over streamable HTTP."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from a2a_adapters_mcp import McpServer
from a2a_adapters_mcp.serving import connection as connections

from a2a_adapters import (
    ConfigurationError,
    Data,
    OutboundPolicy,
    Progress,
    RemoteAgent,
    RemoteOptions,
    RemoteRefusedError,
    RemoteTaskError,
    ServerOptions,
    TargetError,
    build_app,
)
from a2a_adapters.testing import running
from tests.plugins.mcp import agents
from tests.plugins.mcp.support import SERVER, begin, http_server, offered, until_gone
from tests.support.processes import PATIENCE, started
from tests.support.warm import warm

SMALL = ["-I", "-S", str(Path(__file__).with_name("small_server.py")), "echo"]

pytestmark = pytest.mark.timeout(5 * 60)


@asynccontextmanager
async def served(server):
    options = RemoteOptions(progress=True)
    async with running(build_app(server)) as url, RemoteAgent(url, options=options) as agent:
        yield agent


@pytest.fixture(params=["stdio", "http", "stdio, shared"])
def target(request):
    if request.param != "http":
        yield McpServer(warm(SERVER), shared="shared" in request.param, env=dict(os.environ))
        return
    with http_server() as (_, url):
        yield McpServer(url)


def stdio(**options):
    return McpServer(warm(SERVER), **options)


@pytest.fixture
async def agent():
    async with served(stdio()) as agent:
        yield agent


@pytest.fixture
async def shared_agent():
    async with served(stdio(shared=True)) as agent:
        yield agent


def call(tool, **arguments):
    return Data({"tool": tool, "arguments": arguments})


async def test_tools_are_skills_and_results_have_their_types(target):
    async with served(target) as agent:
        card = await agent.card()
        assert (card.name, card.description) == ("Toolbox", "Tools for tests.")
        skills = {skill.id: skill for skill in card.skills}
        assert skills["add"].description == "Adds two numbers."
        assert list(skills["add"].examples) == [
            '{"tool": "add", "arguments": {"a": "<integer>", "b": "<integer>"}}'
        ]
        assert (await agent.send(call("add", a=1, b=2))).data == [{"result": 3}]
        assert (await agent.send(Data({"a": 1, "b": 2}), skill="add")).data == [{"result": 3}]

        sky = await agent.send(call("weather", city="Oslo", days=1))
        assert (sky.text, sky.data) == ("", [{"city": "Oslo", "degrees": 21}])
        assert sky.parts[0].metadata["json_schema"]["title"] == "Weather"

        drawn = await agent.send(call("draw", kind=1))
        image, link = drawn.files
        assert (drawn.text, image.content, image.media_type) == ("1", b"png", "image/png")
        assert (link.url, link.filename) == ("https://files.example/a.pdf", "a.pdf")

        events = [event async for event in agent.stream(call("steps", count=2))]
        expected = [event.text for event in events if isinstance(event, Progress)]
        assert (events[-1].text, expected) == ("done", ["step 1", "step 2"])


async def test_files_keep_their_names_through_both_bridges():
    names = {"a plan.md": "text/markdown", "a.png": "image/png", "a.bin": "application/x"}
    sent = [{"name": n, "media_type": kind, "base64": "YWJj"} for n, kind in names.items()]
    async with offered(target=agents.draw) as url, served(McpServer(f"{url}/mcp")) as agent:
        reply = await agent.send(call("draw", message="go", files=sent))
    found = [file for file in reply.files if file.content == b"abc"]
    assert {file.filename: file.media_type for file in found} == names


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (call("nothing"), "unknown tool 'nothing'; the tools are add"),
        (Data({"tool": "add", "arguments": [1]}), "must be an object"),
        (Data({"tool": "add", "args": {}}), "and nothing else"),
        (Data([1]), "send one data part"),
        ("hello", "send one data part"),
    ],
)
async def test_messages_without_a_tool_call_are_refused(shared_agent, message, expected):
    with pytest.raises(RemoteRefusedError, match=expected):
        await shared_agent.send(message)


async def test_a_tools_error_is_passed_on(shared_agent):
    with pytest.raises(RemoteTaskError, match="7 is too large"):
        await shared_agent.send(call("complain", about=7))
    with pytest.raises(RemoteTaskError, match="valid integer"):
        await shared_agent.send(call("add", a="x", b=1))


async def test_a_form_is_a_question(agent):
    talk = agent.conversation()
    asked = await talk.send(call("trip", what=1))
    assert asked.question == "trip 1: where to?"
    schema = asked.data[0]["response_schema"]
    assert set(schema["properties"]) == {"city", "nights"}
    done = await talk.send(Data({"city": "Rome", "nights": 3}))
    assert done.text == 'accept {"city":"Rome","nights":3}'

    await talk.send(call("trip", what=2))
    assert (await talk.send("Oslo")).text == 'accept {"city":"Oslo","nights":1}'

    await talk.send(call("trip", what=3))
    assert (await talk.send(Data({"action": "decline"}))).text.strip() == "decline"


async def test_an_invalid_answer_repeats_the_question(agent):
    talk = agent.conversation()
    await talk.send(call("number", least=1))
    again = await talk.send("many")
    assert "answer with a integer" in again.question
    again = await talk.send(Data({"number": {"no": "object"}}))
    assert "simple values" in again.question
    assert (await talk.send("4")).text == "5"


async def test_a_page_to_open_is_an_authorisation(agent):
    talk = agent.conversation()
    asked = await talk.send(call("grant", scope=1))
    assert asked.state == "auth-required"
    assert asked.data == [{"url": "https://login.example/x", "elicitation_id": "id-1"}]
    assert (await talk.send("done")).text == "accept"


async def test_a_shared_server_cannot_ask(shared_agent):
    with pytest.raises(RemoteTaskError, match="rejected"):
        await shared_agent.send(call("trip", what=1))


async def test_sixteen_conversations_are_never_mixed():
    async def talk(agent, number):
        conversation = agent.conversation()
        for turn in range(1, 4):
            said = await conversation.send(call("remember", text=f"x{number}", times=1))
            assert said.text == " ".join([f"x{number}"] * turn)
            asked = await conversation.send(call("trip", what=number))
            assert asked.question == f"trip {number}: where to?"
            answer = await conversation.send(Data({"city": f"city {number}"}))
            assert f'"city {number}"' in answer.text

    with http_server() as (_, url):
        async with served(McpServer(url)) as agent:
            await asyncio.gather(*(talk(agent, number) for number in range(16)))


async def test_a_process_per_conversation_and_a_shared_process(agent):
    ann, bob = agent.conversation(), agent.conversation()
    pids = [(await each.send(call("pid"))).data[0] for each in (ann, bob, ann)]
    assert pids[0] == pids[2] != pids[1]


async def test_connections_are_bounded():
    async with served(stdio(connections=1)) as agent:
        said = await asyncio.gather(*(agent.send(call("pid")) for _ in range(3)))
    assert len({reply.data[0]["result"] for reply in said}) == 3


async def test_concurrently_opened_connections_respect_the_limit():
    async with served(stdio(connections=2)) as agent:
        unused = (await agent.send(call("pid"))).data[0]["result"]
        await asyncio.gather(*(agent.send(call("pid")) for _ in range(2)))
        await until_gone(unused)


async def test_idle_connections_are_closed():
    async with served(stdio(idle_seconds=0.01)) as agent:
        pid = (await agent.send(call("pid"))).data[0]["result"]
        await until_gone(pid)


@pytest.mark.parametrize("kind", ["stdio", "stdio, shared", "http"])
async def test_a_cancelled_task_cancels_the_call(folder, kind):
    async def cancel(server):
        async with served(server) as agent:
            waiting, ended = await begin(folder, agent.send(call("wait", number=1)), "1")
            waiting.cancel()
            assert await ended == "yes"

    if kind == "http":
        with http_server() as (_, url):
            await cancel(McpServer(url))
    else:
        await cancel(stdio(shared="shared" in kind, env=dict(os.environ)))


@pytest.mark.parametrize("shared", [False, True])
async def test_a_server_that_dies_is_started_again(shared):
    async with served(stdio(shared=shared)) as agent:
        talk = agent.conversation()
        pid = (await talk.send(call("pid"))).data[0]["result"]
        with pytest.raises(RemoteTaskError, match="Error id"):
            await talk.send(call("crash", code=1))
        other = (await talk.send(call("pid"))).data[0]["result"]
        os.kill(other, signal.SIGKILL)
        await until_gone(other)
        with suppress(RemoteTaskError):  # its end may not have been read yet
            await talk.send(call("pid"))
        third = (await talk.send(call("pid"))).data[0]["result"]
    assert len({pid, other, third}) == 3


@pytest.mark.parametrize("shared", [False, True])
async def test_a_dead_http_server_is_reconnected(folder, shared, monkeypatch):
    monkeypatch.setattr(connections, "_PING_SECONDS", 0.2)
    with http_server() as (process, url):
        port = int(url.split(":")[2].partition("/")[0])
        async with served(McpServer(url, shared=shared)) as agent:
            talk = agent.conversation()
            before = (await talk.send(call("pid"))).data[0]["result"]
            waiting = asyncio.create_task(agent.send(call("wait", number=1)))
            await asyncio.to_thread((folder / "begun").read_text)
            os.kill(before, signal.SIGKILL)
            with pytest.raises(RemoteTaskError, match="Error id"):
                await waiting
            await asyncio.to_thread(process.wait, PATIENCE)
            with pytest.raises(RemoteTaskError, match="Error id"):
                await talk.send(call("pid"))
            with http_server(port):
                after = (await talk.send(call("pid"))).data[0]["result"]
    assert before != after


@pytest.mark.parametrize("shared", [False, True])
async def test_a_call_interrupted_by_a_server_crash_is_not_retried(folder, shared, monkeypatch):
    monkeypatch.setattr(connections, "_PING_SECONDS", 2.0)
    with http_server() as (process, url):
        port = int(url.split(":")[2].partition("/")[0])
        async with served(McpServer(url, shared=shared)) as agent:
            pid = (await agent.send(call("pid"))).data[0]["result"]
            waiting = asyncio.create_task(agent.send(call("wait", number=1)))
            await asyncio.to_thread((folder / "begun").read_text)
            os.kill(pid, signal.SIGKILL)
            await asyncio.to_thread(process.wait, PATIENCE)
            with http_server(port), pytest.raises(RemoteTaskError, match="Error id"):
                await waiting


async def test_a_restarted_http_server_is_called_at_once():
    with http_server() as (process, url):
        port = int(url.split(":")[2].partition("/")[0])
        async with served(McpServer(url)) as agent:
            talk = agent.conversation()
            before = (await talk.send(call("pid"))).data[0]["result"]
            os.kill(before, signal.SIGKILL)
            await asyncio.to_thread(process.wait, PATIENCE)
            with http_server(port):
                after = (await talk.send(call("pid"))).data[0]["result"]
    assert before != after


async def test_a_server_gets_only_the_given_variables(monkeypatch):
    monkeypatch.setenv("PRIVATE", "hunter2")
    command = [sys.executable, SERVER]
    async with served(McpServer(command, shared=True, env={"GIVEN": "yes"})) as agent:
        private = await agent.send(call("variable", name="PRIVATE", default="nothing"))
        given = await agent.send(call("variable", name="GIVEN", default="nothing"))
    assert (private.text, given.text) == ("nothing", "yes")


async def test_a_url_is_checked_by_the_given_policy():
    with http_server() as (_, url):
        async with served(McpServer(url, outbound=OutboundPolicy(allow_private=True))) as agent:
            assert (await agent.send(call("add", a=1, b=1))).data == [{"result": 2}]
        with pytest.raises(TargetError):
            async with McpServerOpened(McpServer(url, outbound=OutboundPolicy())):
                pass


def McpServerOpened(server):  # noqa: N802
    app = build_app(server)
    return app.router.lifespan_context(app)


@pytest.mark.parametrize("server", ["no-such-command-here", f"{sys.executable} -c 1"])
async def test_a_server_that_cannot_start_is_reported_at_once(server):
    with pytest.raises(TargetError, match="MCP server"):
        async with McpServerOpened(McpServer(server)):
            pass


@pytest.mark.parametrize("keep_going", [False, True])
async def test_the_server_that_cannot_start_is_named(keep_going, caplog):
    targets = {"box": stdio(), "broken": McpServer("no-such-command-here")}
    app = build_app(targets, options=ServerOptions(keep_going=keep_going))
    failure = "'broken'.*no-such-command-here"
    if not keep_going:
        with pytest.raises(TargetError, match=failure):
            async with app.router.lifespan_context(app):
                pass
        return
    async with running(app) as url, RemoteAgent(f"{url}/agents/box") as agent:
        assert (await agent.send(call("add", a=1, b=1))).data == [{"result": 2}]
    [logged] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert re.search(failure, logged.getMessage())


async def test_serving_fails_if_no_server_starts():
    options = ServerOptions(keep_going=True)
    app = build_app({"broken": McpServer("no-such-command-here")}, options=options)
    with pytest.raises(TargetError, match="none of the agents"):
        async with app.router.lifespan_context(app):
            pass


@pytest.mark.parametrize("shared", [False, True])
async def test_a_slow_start_suggests_sharing(shared, caplog):
    slow = f"import os, time; time.sleep(1); os.execv({sys.executable!r}, {['python', *SMALL]!r})"
    async with served(McpServer([sys.executable, "-c", slow], shared=shared)):
        assert ("shared=True" in caplog.text) is not shared


async def test_a_silent_server_times_out():
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with pytest.raises(TargetError, match=r"did not answer in 0.5 s"):
        async with McpServerOpened(McpServer(silent, start_seconds=0.5)):
            pass


def test_connections_must_be_positive():
    with pytest.raises(ConfigurationError, match="connections must be greater than 0"):
        stdio(connections=0)


@pytest.mark.parametrize("server", ["", "a 'b", [], "http://"])
def test_invalid_servers_are_refused(server):
    with pytest.raises(ConfigurationError):
        McpServer(server)


async def test_the_command_line_serves_a_command():
    words = " ".join(warm(SERVER))
    command = warm("-m", "a2a_adapters", "serve", f"mcp:{words} ", "--port", "0")
    with started(command) as url:
        async with RemoteAgent(url) as agent:
            assert (await agent.send(call("add", a=1, b=2))).data == [{"result": 3}]


async def test_the_command_line_serves_an_address_by_a_name():
    with http_server() as (_, url):
        words = [f"box=mcp:{url}", f"other=mcp:{url}?x=1"]
        command = warm("-m", "a2a_adapters", "serve", *words, "--port", "0")
        with started(command) as server:
            async with RemoteAgent(server) as agent:
                assert (await agent.send(call("add", a=1, b=2))).data == [{"result": 3}]
