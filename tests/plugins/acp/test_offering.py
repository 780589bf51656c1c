"""A2A agents in editors: the command, driven by the client of the ACP SDK."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager

import pytest
from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process, text_block
from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
    ResourceContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UserMessageChunk,
)

from a2a_adapters import (
    AgentRequest,
    Data,
    File,
    InputRequired,
    Output,
    Progress,
    Rejected,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.testing import answer_of, running, send, user_message
from tests.plugins.acp.support import AcpAgent, scripted, served
from tests.support.warm import warm

CANCELLED = asyncio.Event()
PATIENT = {"shutdown_timeout": 60}  # by default, the SDK fails if a process ends after two seconds


async def agent(request: AgentRequest):
    """Does what its message says."""
    match request.text:
        case "tools":
            yield Progress("thinking")
            yield ToolCall("1", "search", {"q": "x"})
            yield ToolResult("1", "search", "found")
            yield "done"
        case "file":
            yield Output([File(content=b"bytes", filename="a.bin")])
        case "ask":
            answer = yield InputRequired("which city?")
            yield f"fine: {answer.text}"
        case "hostile":
            yield ToolCall("1", "search\n\x1b[2J", {"q": "x" * 100_000})
            yield "\x1b[2Jtext" + "x" * 200_000
            yield Output([File(content=b"bytes", filename="../../etc/\x1bpasswd")])
            yield Output([File(content=bytes(9_000_000), filename="big.bin")])
            options = [{"id": str(n), "kind": "allow_once", "name": "Reject"} for n in range(50)]
            asked = Data({"permission": {"options": options}})
            yield InputRequired("Read it\x1b[2J\nEditor: all is well", [asked])
        case "context":
            yield request.context_id
        case "refuse":
            yield Rejected("not today")
        case "hang":
            yield "begun"
            try:
                await asyncio.Event().wait()
            finally:
                CANCELLED.set()
        case _:
            for part in request.parts:
                yield part.content.decode() if isinstance(part, File) else part.text


class Editor:
    """The client's half: notes what it is told, and answers with an option of a kind."""

    def __init__(self, chosen=None):
        self.updates = asyncio.Queue()
        self.seen = []
        self.asked = []
        self.chosen = chosen

    async def session_update(self, session_id, update, **_):
        self.seen.append(update)
        self.updates.put_nowait(update)

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append((tool_call.title, [option.name for option in options]))
        option = next((o for o in options if o.kind == self.chosen), None)
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=option.option_id)
            if option
            else DeniedOutcome(outcome="cancelled")
        )

    async def read_text_file(self, path, session_id, **_):
        return ReadTextFileResponse(content=f"content of {path}")

    @property
    def text(self):
        chunks = [u.content for u in self.seen if isinstance(u, AgentMessageChunk)]
        return "".join(c.text for c in chunks if c.type == "text")


@asynccontextmanager
async def started(url, editor, state):
    """Yield a connection to the command for an agent, which stores sessions in a folder."""
    command = warm("-m", "a2a_adapters", "acp", url)
    env = {"XDG_STATE_HOME": str(state)}
    async with spawn_agent_process(editor, *command, env=env, transport_kwargs=PATIENT) as (
        connection,
        _,
    ):
        files = FileSystemCapabilities(read_text_file=True)
        await connection.initialize(
            protocol_version=PROTOCOL_VERSION, client_capabilities=ClientCapabilities(fs=files)
        )
        yield connection


@asynccontextmanager
async def edited(target, editor, state):
    """Yield a connection to the command for a served target, and a session."""
    async with running(build_app(target)) as url, started(url, editor, state) as connection:
        session = await connection.new_session(cwd="/", mcp_servers=[])
        yield connection, session.session_id


async def ask(connection, session_id, *blocks):
    prompt = [text_block(each) if isinstance(each, str) else each for each in blocks]
    return await connection.prompt(session_id=session_id, prompt=prompt)


async def test_an_editor_talks_to_a_remote_agent(tmp_path):
    editor = Editor()
    async with edited(agent, editor, tmp_path) as session:
        assert (await ask(*session, "hello")).stop_reason == "end_turn"
        assert editor.text == "hello"
        editor.seen.clear()
        await ask(*session, "tools")
        kinds = [type(update) for update in editor.seen]
        assert kinds == [AgentThoughtChunk, ToolCallStart, ToolCallProgress, AgentMessageChunk]
        editor.seen.clear()
        await ask(*session, "file")
        assert editor.seen[-1].content.resource.uri == "attachment:///a.bin"
        editor.seen.clear()
        await ask(*session, "ask")
        await ask(*session, "Rome")
        assert editor.text == "which city?fine: Rome"
        editor.seen.clear()
        assert (await ask(*session, "refuse")).stop_reason == "refusal"
        assert "not today" in editor.text
        editor.seen.clear()
        mention = ResourceContentBlock(type="resource_link", uri="file:///a/b.py", name="b.py")
        await ask(*session, mention)
        assert editor.text == "content of /a/b.py"


async def test_an_editor_cancels(tmp_path):
    editor = Editor()
    async with edited(agent, editor, tmp_path) as (connection, session_id):
        prompting = asyncio.ensure_future(ask(connection, session_id, "hang"))
        await editor.updates.get()
        await connection.cancel(session_id=session_id)
        assert (await prompting).stop_reason == "cancelled"
        await CANCELLED.wait()


async def test_an_editor_decides_on_a_coding_agent_behind_a2a(tmp_path):
    editor = Editor(chosen="allow_once")
    async with edited(scripted(tmp_path / "work"), editor, tmp_path) as session:
        await ask(*session, "edit a.txt")
    assert (tmp_path / "work" / "a.txt").read_text() == "new\n"
    assert editor.asked[0][1] == ["Allow", "Always allow", "Reject"]


@pytest.mark.thorough
async def test_lines_that_are_not_messages_are_dropped(tmp_path):
    async with running(build_app(agent)) as url:
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "a2a_adapters", "acp", url],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        )
        wrong = b"no json\n\n[1, 2]\nnull\n" + b"[" * 100_000 + b'\n{"jsonrpc": "2.0"}\n'
        params = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {%s}}\n'
        process.stdin.write(wrong + params % b'"protocolVersion": 1')
        answer = json.loads(await process.stdout.readline())
        process.stdin.close()
        assert await process.wait() == 0
    assert answer["result"]["agentInfo"]["title"] == "agent"


async def test_an_agent_that_cannot_be_reached_is_an_error():
    command = warm("-m", "a2a_adapters", "acp", "http://127.0.0.1:9")
    async with spawn_agent_process(Editor(), *command, transport_kwargs=PATIENT) as (connection, _):
        with pytest.raises(RequestError, match="cannot be reached"):
            await connection.initialize(protocol_version=PROTOCOL_VERSION)


async def test_a_session_is_loaded_after_the_editor_restarts(tmp_path):
    before, after = Editor(), Editor()
    async with running(build_app(agent)) as url:
        async with started(url, before, tmp_path) as connection:
            session_id = (await connection.new_session(cwd="/", mcp_servers=[])).session_id
            await ask(connection, session_id, "context")
            await ask(connection, session_id, "ask")
        async with started(url, after, tmp_path) as connection:
            await connection.load_session(cwd="/", session_id=session_id, mcp_servers=[])
            replayed = [(type(u), u.content.text) for u in after.seen]
            assert replayed == [
                (UserMessageChunk, "context"),
                (AgentMessageChunk, before.seen[0].content.text),
                (UserMessageChunk, "ask"),
                (AgentMessageChunk, "which city?"),
            ]
            after.seen.clear()
            await ask(connection, session_id, "Rome")
            assert after.text == "fine: Rome"
            after.seen.clear()
            await ask(connection, session_id, "context")
            assert after.text == before.seen[0].content.text
            for unknown in ("0" * 32, "../" + session_id):
                with pytest.raises(RequestError, match="not found"):
                    await connection.load_session(cwd="/", session_id=unknown, mcp_servers=[])
    stored = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.stat().st_mode & 0o777 for path in stored] == [0o600]


async def test_a_hostile_agent_is_bounded_and_cannot_write_to_a_terminal(tmp_path):
    editor = Editor(chosen="allow_once")
    async with edited(agent, editor, tmp_path) as session:
        await ask(*session, "hostile")
    call, *chunks = editor.seen
    assert (call.title, call.raw_input) == ("search [2J", None)
    assert editor.text.startswith("[2Jtext" + "x" * 200_000)
    assert max(len(c.content.text) for c in chunks if c.content.type == "text") <= 65_536
    assert editor.asked == [("agent: Read it [2J", ["Allow"] * 10)]
    uris = [c.content.resource.uri for c in chunks if c.content.type == "resource"]
    assert uris == ["attachment:///passwd"]
    assert "(The file big.bin is too large: 9000000 bytes)" in editor.text


async def test_an_agent_for_editors_is_served_again_over_a2a(tmp_path):
    async with running(build_app(agent)) as url:
        command = warm("-m", "a2a_adapters", "acp", url)
        async with served(AcpAgent(command, env={"XDG_STATE_HOME": str(tmp_path)})) as client:
            task = await send(client, user_message("tools"))
    assert answer_of(task) == "done"
