"""Help, version and plugins of the command line."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from a2a_adapters.cli import app
from tests.support.command_line import finished
from tests.support.processes import PATIENCE

pytestmark = pytest.mark.timeout(5 * 60)


async def test_help(run):
    assert "Call agents:" in (await run("help")).stdout
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
    "send", "chat", "console", "agents", "history", "discover", "card", "task", "auth", "check",
    "bench",
    "init", "serve", "config", "tasks", "db", "demo-server", "plugins", "completion", "help",
]  # fmt: skip


def _help(columns, *command):
    return finished(*command, "--help", variables={"COLUMNS": str(columns)}).stdout


def test_commands_are_listed_in_sections_with_a_line_each():
    listed = _help(120).partition("Call agents:\n")[2]
    rows = [line.split() for line in listed.splitlines() if line.startswith("  ")]
    assert [row[0] for row in rows][: len(COMMANDS)] == COMMANDS
    assert "Serve agents:" in listed
    assert "and suggest fixes.\n" in listed


@pytest.mark.parametrize("command", [(), ("task",), ("tasks",), ("db",), ("config",)])
def test_no_line_is_cut_in_80_columns(command):
    _, _, listed = _help(80, *command).partition("\n")
    assert "..." not in listed
    assert max(map(len, listed.splitlines())) <= 80


@pytest.mark.parametrize("command", ["send x y", "plugins", "config show", "tasks list"])
def test_the_option_for_json_is_suggested(command):
    done = finished(*command.split(), "--json")
    assert (done.returncode, "(Possible options: -o json)" in done.stderr) == (2, True)


def test_config_alone_shows_the_settings(tmp_path):
    alone, shown = (finished("config", *more, cwd=tmp_path) for more in ((), ("show",)))
    assert (alone.returncode, alone.stdout) == (0, shown.stdout)


def test_options_of_the_connection_have_a_section_and_types_are_plain():
    own, _, connection = _help(120, "card", "get").partition("\nConnection")
    assert "--validate" in own
    assert "--bearer TEXT" in connection
    assert "--client-cert PATH" in connection
    assert "--poll-interval" not in own + connection
    assert "<" not in own.partition("Options:")[2] + connection


def _leaves(command, path=()):
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name in command.commands:
        if not command.commands[name].hidden:
            yield from _leaves(command.commands[name], (*path, name))


def test_every_command_has_two_examples_of_itself():
    for path, command in _leaves(get_command(app)):
        examples = (command.help or "").partition("Examples:\n")[2].splitlines()
        assert len(examples) >= 2, path
        for line in examples:
            _, own, arguments = line.partition(f"a2a-adapters {' '.join(path)}")
            assert own, line
            ours = shlex.split(re.split("[|>)]", arguments)[0])
            command.make_parser(command.context_class(command)).parse_args(ours)


OWN_PLUGINS = {
    "serve": "server", "help": "", "plugins": "server", "card get": "client", "check": "check",
    "db upgrade": "sql",
}  # fmt: skip

LOADED = """
import os, sys
from a2a_adapters.cli import app
for command in sys.argv[1:]:
    if not os.fork():  # each from a process that has run none
        sys.stdout = open(os.devnull, "w")
        app([*command.split(), "--help"], standalone_mode=False)
        print(command, *sys.modules, sep="\\n", file=sys.stderr)
        sys.stderr.flush()
        os._exit(0)
    os.wait()
    print(file=sys.stderr)
"""


def test_a_command_imports_the_modules_of_its_own_plugin_only():
    command = [sys.executable, "-c", LOADED, *OWN_PLUGINS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    blocks = [block.split("\n") for block in done.stderr.strip().split("\n\n")]
    assert [command for command, *_ in blocks] == list(OWN_PLUGINS)
    for command, *modules in blocks:
        loaded = {name.rpartition(".")[0] for name in modules}
        parts = ("check", "client", "console", "server", "sql")
        found = [name for name in parts if f"a2a_adapters_{name}" in loaded]
        assert found == [OWN_PLUGINS[command]] * bool(OWN_PLUGINS[command]), command


def test_plugins_add_commands_and_groups(tmp_path):
    (tmp_path / "added.py").write_text("def told():\n    'By its place.'\n    print('told')")
    code = """
import typer
from a2a_adapters.plugin import hookimpl, installed_plugins
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
for line in ("made", "placed", "single", "group first", "--help"):
    app(line.split(), standalone_mode=False)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    made, placed, single, inner, *shown = done.stdout.splitlines()
    assert (made, placed, single, inner) == ("made", "told", "single", "inner")
    listed = [line.split()[0] for line in shown if line.strip()]
    assert {"made", "placed", "group"} <= set(listed)
    assert "single" not in listed


def test_a_disabled_plugin_has_no_commands():
    done = finished("send", variables={"A2A_ADAPTERS_DISABLE_PLUGINS": "client"})
    assert (done.returncode, "No such command 'send'" in done.stderr) == (2, True)
