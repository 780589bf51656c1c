"""Concurrent callers with the same context ids are isolated, also across restarts."""

from __future__ import annotations

import asyncio
import os

import pytest
from claude_agent_sdk import ClaudeAgentOptions, tool

from a2a_adapters import TargetError, current_request
from tests.plugins.claude_agent import support
from tests.plugins.claude_agent.support import adapt, made, script
from tests.support.adapters import Process, answer, ask
from tests.support.agents.isolation import check_repeating, listening
from tests.support.processes import fifos


@tool("repeat", "Repeat the text.", {"words": str})
async def repeat(arguments):
    for _ in range(3):
        await asyncio.sleep(0)
    text = f"{current_request().owner}: {arguments['words']}"
    return {"content": [{"type": "text", "text": text}]}


@pytest.mark.thorough
async def test_callers_of_one_agent_are_isolated(url):
    await check_repeating(url, listening(support, repeat), questions=0)


def listener(**options):
    """Return an agent that repeats what the user has said."""
    return made(support.Fake(lambda messages: " ".join(support.said(messages))), **options)


async def test_conversations_continue_after_a_restart(url):
    heard = []
    for text in ("one", "two", "three"):  # each with an empty folder of Claude Code
        async with Process(url, adapt(listener())) as adapter:
            heard.append(answer(await ask(adapter, text)))
    assert heard == ["one", "one two", "one two three"]


async def test_owners_and_contexts_are_isolated():
    adapter = adapt(listener())
    places = [{"owner": o, "context_id": c} for o in ("ann", "bob") for c in ("one", "two")]
    for place in places:
        await ask(adapter, " in ".join(place.values()), **place)
    for place in places:
        assert answer(await ask(adapter, "and?", **place)) == f"{' in '.join(place.values())} and?"


async def test_the_servers_variables_are_not_those_of_the_agent(monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "hunter2")
    monkeypatch.setenv("CLAUDE_CODE_SOMETHING", "passed")
    command = "echo [$DATABASE_PASSWORD][$CLAUDE_CODE_SOMETHING][$MINE][$HOME]"
    model = script(support.using("Bash", command=command), "done")
    adapter = adapt(made(model, allowed_tools=["Bash"], env={"MINE": "given"}))
    await ask(adapter, "look")
    assert support.results(model.heard[-1])["c1"] == f"[][passed][given][{os.environ['HOME']}]"


async def test_another_home_needs_a_folder_for_sessions(monkeypatch, tmp_path):
    home = {"HOME": str(tmp_path)}
    with pytest.raises(TargetError, match="CLAUDE_CONFIG_DIR in env"):
        adapt(ClaudeAgentOptions(env=home))
    with pytest.raises(TargetError, match="CLAUDE_CONFIG_DIR in env"):
        adapt(ClaudeAgentOptions(env={**home, "CLAUDE_CONFIG_DIR": ""}))
    adapt(ClaudeAgentOptions(env={"HOME": os.environ["HOME"]}))
    folder = str(tmp_path / ".claude")
    model = listener(env={**home, "CLAUDE_CONFIG_DIR": folder})
    adapter = adapt(model)
    heard = [answer(await ask(adapter, text)) for text in ("one", "two")]
    assert heard == ["one", "one two"]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", folder)
    adapt(ClaudeAgentOptions(env=home))


async def test_messages_carry_out_no_commands_and_read_no_files(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2")
    model = script("one", "two")
    adapter = adapt(made(model))
    for text in (f"see @{secret}", "/compact"):
        await ask(adapter, text)
    assert support.said(model.heard[-1]) == [f"see @{secret}", "/compact"]
    assert "hunter2" not in str(model.asked)


async def test_a_cancelled_run_ends_its_commands(tmp_path):
    command = f"exec 3>{tmp_path}/life; echo begun >&3; sleep 600"
    model = script(support.using("Bash", command=command))
    adapter = adapt(made(model, allowed_tools=["Bash"]))
    with fifos(tmp_path, "life"):
        running = asyncio.create_task(ask(adapter, "work"))
        life = await asyncio.to_thread((tmp_path / "life").open)
        with life:
            assert await asyncio.to_thread(life.readline) == "begun\n"
            running.cancel()
            assert await asyncio.to_thread(life.read) == ""  # nobody holds it any more
        await asyncio.wait({running})
    assert running.cancelled()
