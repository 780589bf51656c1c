"""`a2a-adapters mcp`: agents for the client that starts it, and `serve --dialect mcp`."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys

import pytest
from starlette.responses import PlainTextResponse

from a2a_adapters import ApiKeys, File, Output, ServerOptions, TextDelta, build_app
from a2a_adapters.testing import running
from tests.plugins.mcp import agents
from tests.plugins.mcp.support import AGENTS, User, begin, cancelled, over_http, over_stdio, text_of
from tests.support.processes import PATIENCE, launched, started
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(5 * 60)


async def test_a_function_of_a_file():
    async with over_stdio(f"{AGENTS}:shout") as session:
        [tool] = (await session.list_tools()).tools
        result = await session.call_tool(tool.name, {"message": "hello"})
    assert (tool.name, text_of(result)) == ("shout", "HELLO")


async def test_several_agents_and_a_question():
    user = User({"answer": "Rome"})
    words = [f"loud={AGENTS}:shout", f"rooms={AGENTS}:book"]
    async with over_stdio(*words, elicitation_callback=user.answer) as session:
        assert {tool.name for tool in (await session.list_tools()).tools} == {"loud", "rooms"}
        assert text_of(await session.call_tool("rooms", {"message": "two"})) == (
            "booked Rome for two"
        )


async def test_agents_without_names_have_those_of_their_attributes():
    words = [f"{AGENTS}:shout", f"{AGENTS}:weather", f"{AGENTS}:shout"]
    async with over_stdio(*words) as session:
        tools = {tool.name for tool in (await session.list_tools()).tools}
    assert tools == {"shout", "weather", "shout-2"}


async def test_an_unavailable_agent_is_skipped():
    words = ["http://127.0.0.1:9", f"{AGENTS}:shout", "broken=mcp:no-such-command-here"]
    async with over_stdio(*words, "--keep-going") as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == ["shout"]
    ended = run(*words[1:])
    assert "'broken'" in ended.stderr


FORGED = "x\n2026-01-01 INFO forged\x1b]52;c;eHh4\x07\u202e"


@pytest.mark.parametrize("form", ["text", "json"])
async def test_a_tool_name_cannot_forge_a_line_of_the_log(form):
    command = warm("-m", "a2a_adapters", "serve", f"{AGENTS}:shout", "--port", "0")
    with launched([*command, "--dialect", "mcp", "--log-format", form]) as (server, url):
        async with over_http(url) as session:
            assert (await session.call_tool(FORGED, {})).isError
        server.terminate()
        lines = server.ended().splitlines()
    assert all(line.isprintable() for line in lines)
    assert len([line for line in lines if "INFO forged" in line]) == 1
    if form == "json":
        assert all(json.loads(line) for line in lines)


async def test_nor_one_of_a_command_on_stdio(tmp_path):
    log = tmp_path / "log"
    with log.open("w") as errors:
        async with over_stdio(f"{AGENTS}:shout", errors=errors) as session:
            assert (await session.call_tool(FORGED, {})).isError
    [line] = log.read_text().splitlines()
    assert line.isprintable()
    assert "INFO forged" in line


async def test_remote_agents_have_the_names_of_their_cards():
    async with (
        running(build_app(agents.shout)) as loud,
        running(build_app(agents.shout)) as louder,
        running(build_app(agents.weather)) as sky,
        over_stdio(loud, louder, f"sky={sky}") as session,
    ):
        tools = {tool.name for tool in (await session.list_tools()).tools}
        assert tools == {"shout", "shout-2", "sky"}
        result = await session.call_tool("sky", {"message": "Oslo"})
        assert result.structuredContent == {"city": "Oslo", "degrees": 21}


async def test_everything_of_a_remote_agent_is_passed_on():
    user = User({"city": "Rome"}, None, {})
    error = []

    async def progress(_done, _total, message):
        error.append(message)

    async with running(build_app(agents.ALL)) as url:
        names = ("fill_in", "authorise", "work", "fail", "refuse", "remember", "draw")
        words = [f"{name}={url}/agents/{name}" for name in names]
        async with over_stdio(*words, elicitation_callback=user.answer) as session:
            filled = await session.call_tool("fill_in", {"message": "x"})
            allowed = await session.call_tool("authorise", {"message": "x"})
            worked = await session.call_tool("work", {"message": "x"}, progress_callback=progress)
            failed = await session.call_tool("fail", {"message": "x"})
            refused = await session.call_tool("refuse", {"message": "x"})
            drawn = await session.call_tool("draw", {"message": "x"})
            said = [await session.call_tool("remember", {"message": each}) for each in "ab"]
    assert filled.structuredContent == {"city": "Rome"}
    assert "authorisation is done" in text_of(allowed)
    assert (text_of(worked), error) == ("done", ["half of it", "calls search", "search is done"])
    assert failed.isError
    assert "hunter2" not in str(failed)
    assert refused.isError
    assert "not today" in text_of(refused)
    assert [block.type for block in drawn.content] == ["text", "resource_link"]
    assert [text_of(each) for each in said] == ["a", "a b"]


async def test_texts_and_files_of_a_remote_agent_are_in_order():
    async def captioned(request):
        yield TextDelta("Look:")
        yield Output([File(content=b"cat", media_type="image/png")])
        yield TextDelta("A cat.")

    async with (
        running(build_app(captioned, name="captioned")) as url,
        over_stdio(f"captioned={url}") as session,
    ):
        result = await session.call_tool("captioned", {"message": "x"})
    assert [block.type for block in result.content] == ["text", "image", "text"]
    assert [each.text for each in result.content if each.type == "text"] == ["Look:", "A cat."]


async def test_a_cancelled_call_ends_the_remote_task(folder):
    async with (
        running(build_app(agents.wait)) as url,
        over_stdio(url) as session,
    ):
        request_id = session._request_id
        waiting, ended = await begin(folder, session.call_tool("wait", {"message": "x"}))
        await session.send_notification(cancelled(request_id))
        assert await ended == "yes"
        with pytest.raises(Exception, match="cancelled"):
            await waiting


async def test_a_disconnected_client_cancels_its_calls(folder):
    async with running(build_app(agents.wait)) as url:
        async with over_stdio(url) as session:
            waiting, ended = await begin(folder, session.call_tool("wait", {"message": "x"}))
        assert await ended == "yes"
        waiting.cancel()


async def test_a_header_is_for_one_remote_agent():
    keys = ServerOptions(authentication=ApiKeys({"key-of-ann": "ann"}))
    async with running(build_app(agents.shout, options=keys)) as url:
        async with over_stdio(url, "--header", "X-API-Key: key-of-ann") as session:
            assert text_of(await session.call_tool("shout", {"message": "a"})) == "A"
        environment = {"A2A_ADAPTERS_HEADER": "X-API-Key: key-of-ann"}
        async with over_stdio(url, environment=environment) as session:
            assert text_of(await session.call_tool("shout", {"message": "b"})) == "B"
        async with over_stdio(url, "--header", "X-API-Key: wrong") as session:
            refused = await session.call_tool("shout", {"message": "a"})
            assert "credentials" in text_of(refused)
    ended = run(url, f"b={url}", "--header", "X-API-Key: key")
    assert "requires exactly one agent" in ended.stderr


def run(*arguments):
    command = warm("-m", "a2a_adapters", "mcp", *arguments)
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["no_such_module:agent"], "there is no module"),
        (["http://127.0.0.1:9"], "cannot be reached"),
        ([f"a={AGENTS}:shout", f"a={AGENTS}:book"], "two agents are named 'a'"),
        (["http://127.0.0.1:9", "--header", "nonsense"], "have the form"),
    ],
)
def test_errors_are_one_line(words, error):
    ended = run(*words)
    assert error in ended.stderr
    assert "Traceback" not in ended.stderr
    assert (ended.returncode == 0, ended.stdout) == (False, "")


def test_help_by_a_fresh_interpreter():
    command = [sys.executable, "-m", "a2a_adapters", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "mcp" in shown.stdout
    command.insert(3, "mcp")
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--http" in shown.stdout


async def test_over_http_in_a_separate_process():
    command = warm("-m", "a2a_adapters", "mcp", f"{AGENTS}:weather", "--http", "--port", "0")
    with started(command) as url:
        async with over_http(url) as session:
            result = await session.call_tool("weather", {"message": "Oslo"})
    assert result.structuredContent["city"] == "Oslo"


async def test_sixteen_clients_of_remote_agents_are_never_mixed():
    async def converse(url, number):
        user = User(*({"answer": f"city {number}"} for _ in range(2)))
        async with over_http(url, elicitation_callback=user.answer) as session:
            for turn in range(2):
                said = [f"{number}.{each}" for each in range(turn + 1)]
                remembered = await session.call_tool("remember", {"message": said[-1]})
                assert text_of(remembered) == " ".join(said)
                booked = await session.call_tool("book", {"message": f"{number}"})
                assert text_of(booked) == f"booked city {number} for {number}"

    names = ("remember", "book")
    served = [f"{name}={AGENTS}:{name}" for name in names]
    with started(warm("-m", "a2a_adapters", "serve", *served, "--port", "0")) as first:
        remote = first.partition("/agents/")[0]
        words = [f"{name}={remote}/agents/{name}" for name in names]
        command = warm("-m", "a2a_adapters", "mcp", *words, "--http", "--port", "0")
        with started(command) as url:
            base = url.partition("/agents/")[0]
            await asyncio.gather(*(converse(base, number) for number in range(16)))


async def test_a_stopped_server_cancels_its_calls(folder):
    command = warm(
        "-m", "a2a_adapters", "serve", f"{AGENTS}:wait", "--dialect", "mcp", "--port", "0"
    )
    with launched(command) as (process, url):
        async with over_http(url) as session:
            waiting, ended = await begin(folder, session.call_tool("wait", {"message": "x"}))
            process.terminate()
            assert await ended == "yes"
            assert await asyncio.to_thread(process.wait, PATIENCE) == -signal.SIGTERM
            waiting.cancel()


async def test_tools_by_skill():
    from a2a_adapters import Skill, TextDelta
    from a2a_adapters.plugin import Adapter, AgentDescription

    class Skilled(Adapter):
        def describe(self):
            skills = [
                Skill(id="add", name="Add", description="Adds.", examples=["1+1"]),
                Skill(id="sub", name="Sub tract", description="Subtracts."),
            ]
            return AgentDescription(name="Calculator", description="Counts.", skills=skills)

        async def stream(self, request):
            yield TextDelta(f"{request.metadata['skill']}: {request.text}")

    async with (
        running(build_app(Skilled())) as url,
        over_stdio(url, "--by", "skill") as session,
    ):
        tools = {tool.name: tool.description for tool in (await session.list_tools()).tools}
        assert tools == {"Add": "Adds.\nExample: 1+1", "Sub_tract": "Subtracts."}
        result = await session.call_tool("Sub_tract", {"message": "2-1"})
        assert text_of(result) == "sub: 2-1"


async def test_an_unreachable_agent_is_a_tool_error():
    async with running(build_app(agents.shout)) as url:
        card = (await fetched(url)).replace(url, "http://127.0.0.1:9")

    async def answer(scope, receive, send):
        await PlainTextResponse(card, media_type="application/json")(scope, receive, send)

    async with running(answer) as url, over_stdio(url) as session:
        result = await session.call_tool("shout", {"message": "x"})
    assert result.isError
    assert "127.0.0.1:9" not in text_of(result)


async def fetched(url):
    import httpx

    async with httpx.AsyncClient(timeout=60) as http:
        return (await http.get(f"{url}/.well-known/agent-card.json")).text
