"""`a2a-adapters agents`: names for agents, and their completion in shells."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from a2a_adapters.testing import running
from tests.support.servers.guarded import bearer

pytestmark = [pytest.mark.timeout(5 * 60), pytest.mark.asyncio(loop_scope="module")]

KEYRING = """
import json, pathlib
from keyring.backend import KeyringBackend

FILE = pathlib.Path(__file__).with_name("secrets.json")

class Keyring(KeyringBackend):
    priority = 1

    def _all(self):
        return json.loads(FILE.read_text()) if FILE.exists() else {}

    def get_password(self, service, name):
        return self._all().get(name)

    def set_password(self, service, name, value):
        FILE.write_text(json.dumps(self._all() | {name: value}))

    def delete_password(self, service, name):
        FILE.write_text(json.dumps({k: v for k, v in self._all().items() if k != name}))
"""


@pytest.fixture
def keyring(tmp_path):
    """Return the variables of a keyring in a file."""
    folder = tmp_path / "keyring"
    folder.mkdir()
    (folder / "own_keyring.py").write_text(KEYRING)
    return {"PYTHONPATH": str(folder), "PYTHON_KEYRING_BACKEND": "own_keyring.Keyring"}


NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}


async def test_a_name_stands_for_an_address(url, run):
    assert (await run("agents", "add", "travel", url, **NO_KEYRING)).returncode == 0
    listed = json.loads((await run("agents", "list", "-o", "json", **NO_KEYRING)).stdout)
    assert listed == [{"name": "travel", "address": url, "hasToken": False}]
    assert (await run("send", "travel", "Rome")).stdout == "It rains in Rome\\x1b[2J.\n"
    assert "It rains" in (await run("chat", "travel", text="Rome\n")).stdout
    assert "Name: weather" in (await run("card", "get", "travel")).stdout
    asked = await run("send", "travel", "ask")
    assert asked.stderr.rstrip().endswith('-a travel "..."')
    assert (await run("agents", "remove", "travel", **NO_KEYRING)).returncode == 0
    assert (await run("agents", "remove", "travel", **NO_KEYRING)).returncode == 2


async def test_the_token_of_a_name_is_in_the_keyring(run, keyring, tmp_path):
    async with running(bearer("s3cret", card_too=True)) as url:
        added = await run("agents", "add", "desk", url, "--token", "-", text="s3cret\n", **keyring)
        assert added.returncode == 0
        assert "pong" in (await run("send", "desk", "ping", **keyring)).stdout
        assert (await run("send", url, "ping", **keyring)).returncode == 4
        assert (await run("send", "desk", "x", "--bearer", "wrong", **keyring)).returncode == 4
    files = [file for file in tmp_path.rglob("*.json") if file.name != "secrets.json"]
    assert files
    assert not any("s3cret" in file.read_text() for file in files)
    shown = await run("agents", "list", **keyring)
    assert shown.stdout.split() == ["desk", url, "yes"]
    await run("agents", "remove", "desk", **keyring)
    assert (tmp_path / "keyring" / "secrets.json").read_text() == "{}"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["two words", "localhost:1"], "is not a name"),
        (["x", "http://xn--a/"], "is not a URL"),
        (["x", "localhost:1", "--token", "s3cret"], "set A2ACLI_BEARER"),
    ],
)
async def test_mistakes_are_explained(run, arguments, text):
    done = await run("agents", "add", *arguments, **NO_KEYRING)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert text in done.stderr
    assert "s3cret" not in done.stderr


@pytest.fixture
async def home(tmp_path, run):
    for name in ("travel", "tram"):
        await run("agents", "add", name, "https://agent.example.com", **NO_KEYRING)
    for shell in ("bash", "zsh", "fish"):
        script = (await run("completion", shell)).stdout
        (tmp_path / f"completion.{shell}").write_text(script)
    return tmp_path


SHELLS = {
    "bash": """
source ~/completion.bash
COMP_WORDS=(a2a-adapters {words})
COMP_CWORD={last}
_a2a_adapters_completion a2a-adapters
echo "${COMPREPLY[@]}"
""",
    "fish": 'source ~/completion.fish; complete --do-complete "a2a-adapters {words}"',
}


@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize(
    ("typed", "completed"),
    [("dem", {"demo-server"}), ("send tr", {"travel", "tram"}), ("chat -a trav", {"travel"})],
)
async def test_shells_complete_commands_and_names(home, shell, typed, completed):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    environment = {
        **os.environ,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    shown = await asyncio.to_thread(_completed, shell, typed, environment)
    assert completed <= set(shown.split()), shown


def _completed(shell, typed, environment):
    script = SHELLS[shell].replace("{words}", typed).replace("{last}", str(len(typed.split())))
    done = subprocess.run(
        [shell, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout
