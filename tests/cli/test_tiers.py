"""The documented conformance to the a2a-cli specification, and the demo server."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.main import get_command

from a2a_adapters.cli import app
from tests.support.processes import launched
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(5 * 60)

ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (Path(__file__).parents[2] / "docs" / "cli.md").read_text().splitlines()
    if re.match(r"\|[^|]+\| [123] \|", line)
]
COMMANDS = sorted({name for row in ROWS for name in re.findall(r"`([a-z][a-z -]*)`", row[2])})


@pytest.mark.parametrize("name", COMMANDS)
def test_there_is_every_command_that_the_table_names(name):
    command = get_command(app)
    for word in name.split():
        assert word in command.commands, name
        command = command.commands[word]


def test_every_row_states_its_support():
    assert {re.split("[: ]", row[2])[0] for row in ROWS} == {"yes", "in", "no"}
    assert {"auth login", "task push-config delete", "demo-server"} <= set(COMMANDS)


async def test_the_server_to_practise_on(run):
    command = warm("-m", "a2a_adapters", "demo-server", "--port", "0")
    with launched(command) as (_, url):
        for word, state in [
            ("draw", "COMPLETED"), ("refuse", "REJECTED"), ("ask", "INPUT_REQUIRED")
        ]:  # fmt: skip
            done = await run("send", url, word, "-o", "json")
            task = json.loads(done.stdout)["task"]
            assert task["status"]["state"] == f"TASK_STATE_{state}"
        begun = json.loads((await run("send", url, "wait", "--async", "-o", "json")).stdout)
        stopped = await run("task", "cancel", url, begun["task"]["id"], "-o", "json")
        assert json.loads(stopped.stdout)["status"]["state"] == "TASK_STATE_CANCELED"
