"""What the command line tells about itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import PATIENCE

pytestmark = pytest.mark.timeout(5 * 60)


async def test_help(run):
    assert "Commands:" in (await run("help")).stdout
    shown = (await run("help", "task", "get")).stdout
    assert shown == (await run("task", "get", "--help")).stdout
    assert "A2ACLI_TIMEOUT" in shown
    wrong = await run("help", "task", "nothing")
    assert (wrong.returncode, "No such command 'nothing'" in wrong.stderr) == (2, True)
    assert "Did you mean 'send'?" in (await run("help", "snd")).stderr
    assert (await run("help", "send", "nothing")).returncode == 2


@pytest.mark.parametrize("command", ["send", "card get", "task get", "task cancel"])
async def test_a_command_without_words_asks_for_an_agent(run, command):
    bare = await run(*command.split())
    assert (bare.returncode, "name an agent" in bare.stderr) == (2, True)
    assert "Traceback" not in bare.stderr


async def test_a_shell_is_told_how_to_complete(run):
    script = (await run("completion", "bash")).stdout
    assert "complete -o default -F _a2a_adapters_completion a2a-adapters" in script


def test_commands_are_completed():
    variables = {"COMP_WORDS": "a2a-adapters dem", "COMP_CWORD": "1"}
    completed = subprocess.run(
        [Path(sys.executable).parent / "a2a-adapters"],
        env={**os.environ, "_A2A_ADAPTERS_COMPLETE": "complete_bash", **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert completed.stdout.split() == ["demo-server"]
