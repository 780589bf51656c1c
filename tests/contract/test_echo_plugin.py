"""The example plugin, installed as a user would install it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from a2a_adapters.testing import answer_of, connect, send, user_message
from tests.support.processes import UV, serving
from tests.support.warm import warm

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Install the plugin beside a2a-adapters; return an environment that sees both."""
    folder = tmp_path_factory.mktemp("plugin")
    plugin = ROOT / "examples" / "echo_plugin"
    subprocess.run(
        [UV, "pip", "install", "--quiet", "--no-deps", "--target", folder, plugin], check=True
    )
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_it_is_listed(environment):
    command = warm("-m", "a2a_adapters", "plugins")
    listed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in listed.stdout.splitlines()]
    assert ["echo", "0.1.0", "a2a_adapters_echo", "a2a_adapt", "", "loaded"] in rows


async def test_it_serves(environment):
    with serving("a2a_adapters_echo:agent", environment) as url:
        async with connect(url) as client:
            task = await send(client, user_message("hello you"))
    assert answer_of(task) == "hello you hello you"
