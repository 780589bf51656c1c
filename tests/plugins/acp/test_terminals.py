"""Commands that a coding agent runs by its client."""

from __future__ import annotations

import json

import pytest
from a2a_adapters_acp import Permissions

from a2a_adapters.testing import answer_of, send, user_message
from tests.plugins.acp.support import answered, begun, cancel, is_running, scripted, served

ALLOWED = Permissions(allow=["execute"])


async def terminal(agent, **fields):
    task = await answered(agent, f"terminal {json.dumps(fields)}")
    return json.loads(answer_of(task))


@pytest.mark.parametrize(
    ("fields", "ended", "output"),
    [
        ({"command": "echo", "args": ["a b", "$HOME"]}, {"exitCode": 0}, "a b $HOME\n"),
        ({"command": "echo one; echo two >&2; exit 3"}, {"exitCode": 3}, "one\ntwo\n"),
        ({"command": "kill -9 $$"}, {"signal": "SIGKILL"}, ""),
        ({"command": "cat"}, {"exitCode": 0}, ""),
        (
            {"command": "echo $A", "env": [{"name": "A", "value": "1"}], "cwd": "."},
            {"exitCode": 0},
            "1\n",
        ),
        ({"command": "nobody-has-this", "args": ["x"]}, {"exitCode": 127}, "not found"),
    ],
    ids=str,
)
async def test_commands(folder, fields, ended, output):
    how, written, is_gone = await terminal(scripted(folder, permissions=ALLOWED), **fields)
    assert how == ended == written["exitStatus"]
    assert written["output"].endswith(output) or output in written["output"]
    assert is_gone


async def test_the_end_of_a_long_output_is_kept(folder):
    agent = scripted(folder, permissions=ALLOWED)
    command = "head -c 3000000 /dev/zero | tr '\\0' x; echo end"
    _, written, _ = await terminal(agent, command=command, outputByteLimit=10_000_000)
    assert written["truncated"]
    assert len(written["output"]) == 1024 * 1024
    assert written["output"].endswith("xend\n")


@pytest.mark.parametrize(
    ("permissions", "cwd", "problem"),
    [
        (Permissions(), ".", "not found"),
        (Permissions(allow=["execute"], deny=["execute"]), ".", "not found"),
        (ALLOWED, "..", "not in the working folder"),
        (ALLOWED, "link", "not in the working folder"),
        (ALLOWED, "nowhere", "not in the working folder"),
    ],
    ids=str,
)
async def test_commands_that_are_refused(folder, tmp_path, permissions, cwd, problem):
    agent = scripted(folder, permissions=permissions)
    (folder / "link").symlink_to(tmp_path)
    said = await terminal(agent, command="pwd", cwd=cwd)
    assert problem in json.dumps(said)


async def test_a_command_that_is_killed(folder):
    task = await answered(scripted(folder, permissions=ALLOWED), "kill")
    assert json.loads(answer_of(task)) == {"signal": "SIGKILL"}


async def test_a_cancelled_turn_leaves_no_command(folder):
    async with served(scripted(folder, permissions=ALLOWED)) as client:
        task_id, pid = await begun(client, "background", context_id="one")
        assert is_running(int(pid))
        await cancel(client, task_id)
        await send(client, user_message("hello", context_id="one"))
        assert not is_running(int(pid))
