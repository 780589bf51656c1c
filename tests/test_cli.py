"""The command line, run as a user runs it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import httpx
import pytest
from starlette.responses import JSONResponse

from a2a_adapters import ConfigurationError
from a2a_adapters.cli import load_targets
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.processes import serving, started
from tests.remote.servers.huge import huge_card

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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "needy.py").write_text("import no_such_package")
    (tmp_path / "wrong").write_text("ann: hunter2\nhunter2\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    command = [sys.executable, "-m", "a2a_adapters", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["serve", "app"], "module:attribute"),
        (["serve", "app:shout", "--card-key", "no.pem"], "no.pem cannot be read"),
        (["serve", "app:shout", "--card-key", "app.py"], "no private key"),
        (["serve", "nowhere:x"], "no module 'nowhere'; run this in the folder"),
        (["serve", "needy:x"], "no module 'no_such_package'; install it"),
        (["serve", "broken:x"], "ZeroDivisionError"),
        (["serve", "app:nothing"], "no attribute 'nothing'"),
        (["serve", "app:holder"], "no plugin can serve an object of type app.Holder"),
        (["serve", "app:shout", "--host", "0.0.0.0"], "--allow-unauthenticated"),
        (["card", "app:nothing"], "no attribute"),
        (["serve", "app:shout", "app:sleep"], "needs a name, as in poet=app:shout"),
        (["serve", "app:shout", "--bearer-token-file", "wrong"], "line 2 of wrong is not of"),
    ],
)
def test_mistakes_are_told_in_one_line_with_the_remedy(folder, arguments, remedy):
    result = run(*arguments)
    assert result.returncode == 2
    assert remedy in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "hunter2" not in result.stderr


@pytest.mark.parametrize("option", ["--port", "--grpc-port"])
def test_a_port_that_there_is_not_is_refused(folder, option):
    result = run("serve", "app:shout", option, "99999")
    assert result.returncode == 2
    assert "65535" in result.stderr


async def test_serve_and_card(folder):
    with serving("app:holder.shout", dict(os.environ), "--name", "Shouter") as url:
        async with connect(url) as client:
            assert answer_of(await send(client, user_message("hi"))) == "HI"
        shown = run("card", url)
        assert json.loads(shown.stdout)["name"] == "Shouter"
        refused = run("card", f"{url}/nothing")
    assert refused.returncode == 3
    assert "no card at" in refused.stderr


async def ask(url, **headers):
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    async with httpx.AsyncClient(headers={"A2A-Version": "1.0"} | headers) as http:
        response = await http.post(f"{url}/", json=call)
    return response.status_code


async def test_serve_asks_for_the_credentials_of_files_and_of_the_environment(folder):
    (folder / "tokens").write_text("# two for ann, one for bob\nann: one\nann: two\n\nbob: three\n")
    environment = {**os.environ, "A2A_ADAPTERS_API_KEYS": "carl: four"}
    # With credentials, other machines may be served, too.
    options = ["--bearer-token-file", "tokens", "--host", "0.0.0.0"]
    with serving("app:shout", environment, *options) as url:
        for token in ("one", "two", "three"):
            assert await ask(url, authorization=f"Bearer {token}") == 200
        assert await ask(url, **{"x-api-key": "four"}) == 200
        assert await ask(url, authorization="Bearer four") == 401
        assert await ask(url) == 401
        card = json.loads(run("card", url, "--json").stdout)
        assert card["security"] == [{"bearer": []}, {"apiKey": []}]


async def test_serve_allows_hosts_by_name(folder):
    with serving("app:shout", dict(os.environ), "--allow-host", "agent.example") as url:
        assert await ask(url, host="agent.example") == 200
        assert await ask(url, host="other.example") == 421


async def test_serve_several(folder):
    command = [sys.executable, "-m", "a2a_adapters", "serve", "--port", "0"]
    with started([*command, "loud=app:shout", "held=app:holder.shout"]) as first:
        root = first.removesuffix("/agents/loud")
        async with httpx.AsyncClient() as http:
            listed = (await http.get(f"{root}/agents")).json()["agents"]
        assert [agent["name"] for agent in listed] == ["loud", "held"]
        for agent in listed:
            async with connect(agent["url"]) as client:
                assert answer_of(await send(client, user_message("hi"))) == "HI"


def test_each_of_several_has_a_name_of_its_own(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    targets = load_targets(["loud=app:shout", "held=app:holder.shout"])
    assert list(targets) == ["loud", "held"]
    assert list(load_targets(["only=app:shout"])) == ["only"]
    with pytest.raises(ConfigurationError, match="two agents named 'a'"):
        load_targets(["a=app:shout", "a=app:sleep"])


def test_the_card_a_target_would_get(folder):
    assert json.loads(run("card", "app:shout").stdout)["description"] == "Say it louder."


def test_an_unreachable_agent(folder):
    result = run("card", "http://127.0.0.1:9")
    assert (result.returncode, len(result.stderr.splitlines())) == (3, 1)


def test_plugins(folder):
    result = run("plugins")
    rows = {line.split("\t")[0]: line.split("\t") for line in result.stdout.splitlines()}
    assert rows["functions"][3:] == ["a2a_adapt", "loaded"]
    assert result.returncode == 0


def test_ctrl_c_ends_a_server_whose_function_never_ends(folder):
    command = [sys.executable, "-m", "a2a_adapters", "serve", "app:sleep", "--port", "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        lines = iter(server.stderr.readline, "")
        line = next(line for line in lines if "A2A agent at" in line)
        url = line.split("A2A agent at ")[1].split(",")[0]
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}
        params = {"message": message, "configuration": {"returnImmediately": True}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
        answer = httpx.post(url, json=call, headers={"A2A-Version": "1.0"}, timeout=20).json()
        assert answer["result"]["task"]["status"]["state"] == "TASK_STATE_WORKING"
        began = time.monotonic()
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=30)
    finally:
        server.kill()
    assert time.monotonic() - began < 25
    assert "blocking call" in errors
    assert "Traceback" not in errors


def run_on_a_terminal(*arguments):
    """Run the command line on a terminal of its own and return what it shows."""
    master, slave = os.openpty()
    environment = {**os.environ, "COLUMNS": "200", "TERM": "dumb"}
    command = [sys.executable, "-m", "a2a_adapters", *arguments]
    process = subprocess.Popen(command, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:  # what Linux says when the other side is closed
        pass
    os.close(master)
    assert process.wait(timeout=30) == 0
    return shown.decode()


def test_a_terminal_gets_tables(folder):
    shown = run_on_a_terminal("card", "app:shout")
    assert "Say it louder." in shown
    assert "HTTP+JSON 0.3" in shown
    assert "{" not in shown
    assert "a2a_adapters_functions" in run_on_a_terminal("plugins")


def test_plugins_that_are_not_loaded_are_told_by_the_exit_code(folder, monkeypatch):
    monkeypatch.setenv("A2A_ADAPTERS_DISABLE_PLUGINS", "functions")
    result = run("plugins")
    assert result.returncode == 1
    assert "disabled by" in result.stdout


async def test_what_is_no_card(folder):
    async def answer(scope, receive, send):
        await JSONResponse([1])(scope, receive, send)

    async with running(answer) as url:
        result = await asyncio.to_thread(run, "card", url)
    assert result.returncode == 3
    assert "is not an agent card" in result.stderr


async def test_a_card_is_not_fetched_without_end(folder):
    async with running(huge_card()) as url:
        result = await asyncio.to_thread(run, "card", url)
    assert result.returncode == 3
    assert "bytes" in result.stderr
