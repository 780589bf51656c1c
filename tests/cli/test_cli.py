"""The command line, run as a user runs it, and its conformance to the a2a-cli specification."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest
from starlette.responses import JSONResponse
from typer.main import get_command

import a2a_adapters
from a2a_adapters import ConfigurationError, build_app
from a2a_adapters.cli import app
from a2a_adapters.cli.targets import load_targets
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.support.processes import PATIENCE, launched, serving, started
from tests.support.requests import V1, rpc, say
from tests.support.servers.huge import huge_card
from tests.support.warm import completed as run
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(5 * 60)

APP = '''
"""Agents of a test."""
import time

def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()

def sleep(text: str) -> str:
    time.sleep(600)

class Holder:
    shout = staticmethod(shout)

holder = Holder()
'''

ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (Path(__file__).parents[2] / "docs" / "cli.md").read_text().splitlines()
    if re.match(r"\|[^|]+\| [123] \|", line)
]
COMMANDS = sorted({name for row in ROWS for name in re.findall(r"`([a-z][a-z -]*)`", row[2])})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "broken.py").write_text("\n1 / 0")
    (tmp_path / "unfinished.py").write_text("def agent(text):\n    return (")
    (tmp_path / "outer.py").write_text("import math\n\n\nimport broken")
    (tmp_path / "needy.py").write_text("import no_such_package")
    missing = "raise ModuleNotFoundError(name='autogen_agentchat')"  # tests have all frameworks
    (tmp_path / "lonely.py").write_text(missing)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "app.py").write_text(APP)
    (tmp_path / "time.py").write_text(APP)
    (tmp_path / "wrong").write_text("ann: hunter2\nhunter2\n")
    (tmp_path / "wrong").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["serve", "app"], "module:attribute"),
        (["serve", "app:shout", "--card-key", "no.pem"], "no.pem cannot be read"),
        (["serve", "app:shout", "--card-key", "app.py"], "not a private key"),
        (["serve", "../app:shout"], "name its file, ../app.py:shout"),
        (["serve", "nowhere:x"], "no module 'nowhere'; run this in its folder"),
        (
            ["serve", "needy:x"],
            "needy.py, line 1: there is no module 'no_such_package'; install it",
        ),
        (["serve", "lonely:x"], "'autogen_agentchat'; pip install 'a2a-adapters[autogen]'"),
        (["serve", "broken:x"], "broken.py, line 2: importing broken failed: ZeroDivisionError"),
        (["serve", "outer:x"], "broken.py, line 2: importing outer failed: ZeroDivisionError"),
        (["serve", "unfinished:x"], "unfinished.py, line 2: importing unfinished failed: Syntax"),
        (["serve", "nowhere.py:x"], "there is no file nowhere.py"),
        (["serve", "a=app.py:shout", "b=other/app.py:shout"], "has the name of another module"),
        (["serve", "time.py:shout"], "has the name of another module, of Python itself"),
        (["serve", "app:nothing"], "no attribute 'nothing'"),
        (["serve", "app:holder"], "no plugin can serve an object of type app.Holder"),
        (["serve", "app:shout", "--host", "0.0.0.0"], "--allow-unauthenticated"),
        (["card", "get", "app:nothing"], "no attribute"),
        (["serve", "app:shout", "app:sleep"], "needs a name, as in poet=app:shout"),
        (["serve", "app:shout", "--url", "agents.example.org"], "use one like https://agents.exa"),
        (["serve", "app:shout", "--url", "http://[::1"], "cannot be the agent's public address"),
        (["serve", "app:shout", "--push-private", "--no-push"], "contradict each other"),
        (["serve", "app:shout", "--bearer-token-file", "wrong"], "line 2 of wrong is not of"),
    ],
)
def test_errors_are_one_line_with_the_remedy(folder, arguments, remedy):
    result = run(*arguments)
    assert result.returncode == 2
    assert remedy in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "hunter2" not in result.stderr


@pytest.mark.parametrize("option", ["--port", "--grpc-port"])
def test_invalid_ports_are_refused(folder, option):
    result = run("serve", "app:shout", option, "99999")
    assert result.returncode == 2
    assert "65535" in result.stderr


async def test_serve_and_card(folder):
    with serving("app:holder.shout", dict(os.environ), "--name", "Shouter") as url:
        async with connect(url) as client:
            assert answer_of(await send(client, user_message("hi"))) == "HI"
        shown = run("card", "get", url)
        assert shown.stdout.startswith("Name: Shouter\n")
        refused = run("card", "get", f"{url}/nothing")
    assert refused.returncode == 3
    assert "no agent card at" in refused.stderr


def in_shell(line):
    """Run a shell line that contains no command but ours."""
    start = [sys.executable] if "<&-" in line else warm()  # which passes on what is open
    command = line.replace("a2a-adapters", shlex.join([*start, "-m", "a2a_adapters"]))
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        ("a2a-adapters plugins > /dev/full", 1, "No space left on device"),
        ("a2a-adapters send http://127.0.0.1:9 <&-", 2, "nothing to send"),
        ("printf 'a\\xff' | a2a-adapters send http://127.0.0.1:9", 2, "input is not text"),
        ("printf 'a\\xff' | LC_ALL=C a2a-adapters send http://127.0.0.1:9", 2, "input is not text"),
    ],
)
def test_unusable_standard_streams_are_reported_in_one_line(line, code, error):
    done = in_shell(line)
    assert (done.returncode, error in done.stderr) == (code, True)
    assert len(done.stderr.splitlines()) == 1


async def test_an_answer_that_cannot_be_written_ends_the_conversation():
    async with running(build_app(lambda text: text)) as url:
        done = await asyncio.to_thread(in_shell, f"echo hi | a2a-adapters chat {url} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "a2a-adapters: [Errno 28] No space left on device\n"


async def ask(url, **headers):
    async with httpx.AsyncClient(headers=V1 | headers, timeout=60) as http:
        response = await http.post(f"{url}/", json=rpc("SendMessage", say("hi")))
    return response.status_code


async def test_serve_requires_the_credentials_of_files_and_the_environment(folder):
    (folder / "tokens").write_text("# two for ann, one for bob\nann: one\nann: two\n\nbob: three\n")
    environment = {**os.environ, "A2A_ADAPTERS_API_KEYS": "carl: four"}
    # With credentials, other machines may be served as well.
    options = ["--bearer-token-file", "tokens", "--host", "0.0.0.0"]
    with serving("app:shout", environment, *options) as url:
        for token in ("one", "two", "three"):
            assert await ask(url, authorization=f"Bearer {token}") == 200
        assert await ask(url, **{"x-api-key": "four"}) == 200
        assert await ask(url, authorization="Bearer four") == 401
        assert await ask(url) == 401
        card = json.loads(run("card", "get", url, "-o", "json").stdout)
        assert card["security"] == [{"bearer": []}, {"apiKey": []}]


async def test_serve_allows_hosts_by_name(folder):
    with serving("app:shout", dict(os.environ), "--allow-host", "agent.example") as url:
        assert await ask(url, host="agent.example") == 200
        assert await ask(url, host="other.example") == 421


async def test_serve_several(folder):
    command = warm("-m", "a2a_adapters", "serve", "--port", "0")
    with started([*command, "loud=app:shout", "held=app:holder.shout"]) as first:
        root = first.removesuffix("/agents/loud")
        async with httpx.AsyncClient(timeout=60) as http:
            listed = (await http.get(f"{root}/agents")).json()["agents"]
        assert [agent["name"] for agent in listed] == ["loud", "held"]
        for agent in listed:
            async with connect(agent["url"]) as client:
                assert answer_of(await send(client, user_message("hi"))) == "HI"


def test_several_agents_have_separate_names(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    targets = load_targets(["loud=app:shout", "held=app:holder.shout"])
    assert list(targets) == ["loud", "held"]
    assert list(load_targets(["only=app:shout"])) == ["only"]
    with pytest.raises(ConfigurationError, match="two agents named 'a'"):
        load_targets(["a=app:shout", "a=app:sleep"])


def test_the_card_a_target_would_get(folder):
    shown = run("card", "get", "app:shout")
    assert "Description: Say it louder.\n" in shown.stdout


@pytest.mark.parametrize(
    "form", ["pkg/agent.py:agent", "./pkg/agent.py:agent", "{folder}/pkg/agent.py:agent"]
)
@pytest.mark.parametrize("is_package", [True, False])
def test_a_target_in_a_file(folder, form, is_package):
    package = folder / "pkg"
    package.mkdir()
    if is_package:
        (package / "__init__.py").write_text("")
    source = "from .words import GREETING" if is_package else "from words import GREETING"
    (package / "words.py").write_text('GREETING = "Hello"')
    (package / "agent.py").write_text(
        f"{source}\nfrom app import shout\n\ndef agent(text):\n    return shout(GREETING + text)\n"
    )
    shown = run("card", "get", form.replace("{folder}", str(folder)))
    assert shown.stdout.startswith("Name: agent\n")


@pytest.mark.parametrize("flag", ["--version", "-v"])
def test_the_version(flag):
    assert run(flag).stdout == f"a2a-adapters {a2a_adapters.__version__}\n"


@pytest.mark.parametrize("place", [0, 2])
def test_verbose_shows_the_traceback(folder, place):
    arguments = ["serve", "broken:x"]
    arguments.insert(place, "--verbose")
    shown = run(*arguments).stderr
    assert "Traceback" in shown
    assert shown.splitlines()[-1].startswith("a2a-adapters: broken.py, line 2: ")


def test_help_imports_nothing_that_takes_long():
    command = [sys.executable, "-X", "importtime", "-m", "a2a_adapters", "--help"]
    error = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    imported = {line.rpartition("|")[2].strip() for line in error.splitlines()}
    assert "a2a_adapters.cli" in imported
    assert not imported & {"rich.console", "httpx", "a2a", "starlette", "uvicorn", "langchain_core"}


def test_help_cuts_no_name():
    shown = run_on_a_terminal("serve", "--help", columns=40)
    assert "--allow-unauthenticated" in shown
    assert "--bearer-token-file" in shown


@pytest.mark.parametrize("option", ["--port", "--grpc-port"])
def test_a_port_in_use_is_reported_in_one_line(folder, option):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        rest = ["--port", "0"] if option == "--grpc-port" else []
        result = run("serve", "app:shout", option, port, *rest)
    assert result.returncode == 1
    assert result.stderr == (
        f"a2a-adapters: port {port} of 127.0.0.1 is taken: choose another, or 0 for a free one\n"
    )


def test_log_lines_have_a_time(folder):
    command = warm("-m", "a2a_adapters", "serve", "app:shout", "--port", "0")
    with launched(command) as (server, url):
        httpx.get(f"{url}/healthz", timeout=60)
        server.send_signal(signal.SIGINT)
        log = server.ended()
    assert log
    for line in log.splitlines():
        assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO: ", line), line


async def test_an_address_of_this_machine_needs_no_scheme(folder):
    async with running(build_app(lambda text: text, name="Echo")) as url:
        shown = await asyncio.to_thread(run, "card", "get", url.removeprefix("http://"))
    assert shown.stdout.startswith("Name: Echo\n")


async def test_the_card_of_a_server_with_several_agents(folder):
    agents = {"echo": lambda text: text, "mute": lambda text: ""}
    async with running(build_app(agents)) as url:
        shown = await asyncio.to_thread(run, "card", "get", url)
    assert shown.returncode == 3
    assert f"  {url}#echo  " in shown.stderr
    async with running(build_app({"echo": agents["echo"]})) as url:
        shown = await asyncio.to_thread(run, "card", "get", url)
    assert shown.stdout.startswith("Name: echo\n")


def test_an_unreachable_agent(folder):
    result = run("card", "get", "http://127.0.0.1:9")
    assert (result.returncode, len(result.stderr.splitlines())) == (3, 1)


def test_plugins(folder):
    result = run("plugins")
    rows = {line.split("\t")[0]: line.split("\t") for line in result.stdout.splitlines()}
    assert rows["functions"][3:] == ["a2a_accepts, a2a_adapt, a2a_hint", "", "loaded"]
    frameworks = rows["langchain"][4]
    assert (
        frameworks
        == f"langchain-core {version('langchain-core')}, langgraph {version('langgraph')}"
    )
    assert result.returncode == 0


def test_plugins_for_programs(folder):
    listed = {each["name"]: each for each in json.loads(run("plugins", "-o", "json").stdout)}
    assert listed["functions"]["hooks"] == ["a2a_accepts", "a2a_adapt", "a2a_hint"]


def test_ctrl_c_ends_a_server_whose_function_never_ends(folder):
    command = warm("-m", "a2a_adapters", "serve", "app:sleep", "--port", "0")
    with launched(command) as (server, url):
        call = rpc("SendMessage", {**say("x"), "configuration": {"returnImmediately": True}})
        answer = httpx.post(url, json=call, headers=V1, timeout=PATIENCE).json()
        assert answer["result"]["task"]["status"]["state"] == "TASK_STATE_WORKING"
        server.send_signal(signal.SIGINT)
        errors = server.ended()
    assert "stopped while 1 blocking call(s) were still running" in errors
    assert "Traceback" not in errors


def run_on_a_terminal(*arguments, columns=200):
    """Run the command line on a separate terminal and return its output."""
    master, slave = os.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "dumb"}
    command = warm("-m", "a2a_adapters", *arguments)
    process = subprocess.Popen(command, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:  # how Linux reports that the other side is closed
        pass
    os.close(master)
    assert process.wait(timeout=PATIENCE) == 0
    return shown.decode()


def test_a_terminal_gets_tables(folder):
    shown = run_on_a_terminal("plugins")
    assert re.search(r"functions +\S+ +loaded\r?\n", shown)
    assert "a2a_accepts" not in shown


def test_a_narrow_terminal_gets_whole_words(folder):
    shown = run_on_a_terminal("plugins", columns=50)
    assert "…" not in shown
    assert "openai-agents" in shown


def test_plugins_that_are_not_loaded_set_the_exit_code(folder, monkeypatch):
    monkeypatch.setenv("A2A_ADAPTERS_DISABLE_PLUGINS", "functions")
    result = run("plugins")
    assert result.returncode == 1
    assert "disabled by" in result.stdout


async def test_invalid_cards(folder):
    async def answer(scope, receive, send):
        await JSONResponse([1])(scope, receive, send)

    async with running(answer) as url:
        result = await asyncio.to_thread(run, "card", "get", url)
    assert result.returncode == 1
    assert "is not an agent card" in result.stderr


async def test_a_card_is_not_fetched_without_end(folder):
    async with running(huge_card()) as url:
        result = await asyncio.to_thread(run, "card", "get", url)
    assert result.returncode == 3
    assert "bytes" in result.stderr


def test_the_former_names_of_card(folder):
    result = run("card", "app:shout", "--json")
    assert json.loads(result.stdout)["name"] == "shout"
    assert "is now `card get AGENT`" in result.stderr


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
