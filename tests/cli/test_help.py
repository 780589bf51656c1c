"""Help, version and plugins of the command line."""

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
async def test_a_command_without_arguments_requires_an_agent(run, command):
    bare = await run(*command.split())
    assert (bare.returncode, "name an agent" in bare.stderr) == (2, True)
    assert "Traceback" not in bare.stderr


async def test_completion_prints_a_shells_script(run):
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


COMMANDS = [
    "serve", "chat", "check", "console", "demo-server", "init", "plugins", "completion", "send",
    "discover", "help", "auth", "card", "task", "config", "db", "tasks",
]  # fmt: skip


async def test_commands_are_listed_in_their_order(run):
    listed = (await run("help")).stdout.partition("Commands:\n")[2]
    assert [line.split()[0] for line in listed.splitlines()][: len(COMMANDS)] == COMMANDS
    for hidden in ("call", "conformance"):
        assert (await run("help", hidden)).returncode == 0


@pytest.mark.parametrize(
    ("command", "plugin"),
    [
        ("serve", "server"),
        ("plugins", ""),
        ("card get", "client"),
        ("check", "check"),
        ("db upgrade", "sql"),
    ],
)
def test_a_command_imports_the_modules_of_its_own_plugin_only(command, plugin):
    code = f"""
import sys
from a2a_adapters.cli import app
app([*{command.split()!r}, "--help"], standalone_mode=False)
print(*sys.modules, sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[0] for name in done.stdout.split()}
    parts = ("check", "client", "console", "server", "sql")
    assert [name for name in parts if f"a2a_adapters_{name}" in loaded] == [plugin] * bool(plugin)


def test_plugins_add_commands_and_groups(tmp_path):
    (tmp_path / "added.py").write_text("def told():\n    'By its place.'\n    print('told')")
    code = """
import typer
from a2a_adapters import hookimpl, installed_plugins
from a2a_adapters.cli import app

group = typer.Typer(help="A group.")
group.command("first")(lambda: print("inner"))
group.command("second")(lambda: None)
single = typer.Typer()
single.command(hidden=True)(lambda: print("single"))

class Plugin:
    @hookimpl
    def a2a_commands(self):
        made = lambda: print("made")
        return {"made": made, "placed": "added:told", "group": group, "single": single}

installed_plugins().register(Plugin())
app(standalone_mode=False)
"""

    def run(*arguments):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        return done.stdout

    listed = [line.split()[0] for line in run("--help").splitlines() if line.strip()]
    assert {"made", "placed", "group"} <= set(listed)
    assert "single" not in listed
    assert run("made") == "made\n"
    assert run("placed") == "told\n"
    assert run("single") == "single\n"
    assert run("group", "first") == "inner\n"


def test_a_disabled_plugin_has_no_commands():
    variables = {**os.environ, "A2A_ADAPTERS_DISABLE_PLUGINS": "client"}
    command = [sys.executable, "-m", "a2a_adapters", "send"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert (done.returncode, "No such command 'send'" in done.stderr) == (2, True)
