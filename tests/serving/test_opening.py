"""Targets that are opened in the server's event loop, and closed after it."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from contextlib import asynccontextmanager

import httpx
import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from a2a_adapters import (
    ConfigurationError,
    ListenError,
    NoAdapterError,
    TargetError,
    aserve,
    build_app,
    serve,
)
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.support.command_line import finished
from tests.support.processes import PATIENCE, launched
from tests.support.requests import V1, rpc, say
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(5 * 60)


def count(state):
    return {"messages": [AIMessage(f"message {len(state['messages'])}")]}


def compiled(saver):
    graph = StateGraph(MessagesState)
    graph.add_node("count", count)
    graph.add_edge(START, "count")
    return graph.compile(checkpointer=saver)


class Opened:
    """A graph on a database, as each kind of target."""

    def __init__(self, path):
        self.path = str(path)
        self.is_open = False

    @asynccontextmanager
    async def managed(self):
        async with AsyncSqliteSaver.from_conn_string(self.path) as saver:
            self.is_open = True
            try:
                yield compiled(saver)
            finally:
                self.is_open = False

    async def returned_manager(self):
        return self.managed()


@pytest.fixture
def graph(tmp_path):
    return Opened(tmp_path / "threads.sqlite")


async def remembers(url):
    async with connect(url) as client:
        first = await send(client, user_message("a"))
        second = await send(client, user_message("b", context_id=first.context_id))
    return (answer_of(first), answer_of(second)) == ("message 1", "message 3")


@pytest.mark.parametrize("form", ["function", "object", "async function"])
async def test_a_graph_whose_checkpointer_needs_the_loop(graph, form):
    target = {
        "function": graph.managed,
        "object": graph.managed(),
        "async function": graph.returned_manager,
    }[form]
    app = build_app(target, name="Counter")
    assert not graph.is_open
    async with running(app) as url:
        assert graph.is_open
        async with httpx.AsyncClient(timeout=60) as http:
            card = (await http.get(f"{url}/.well-known/agent-card.json")).json()
        assert card["name"] == "Counter"
        assert await remembers(url)
    assert not graph.is_open


async def test_several_of_which_one_is_opened(graph):
    app = build_app({"counter": graph.managed, "echo": lambda text: text})
    async with running(app) as url:
        assert await remembers(f"{url}/agents/counter/")
        async with connect(f"{url}/agents/echo/") as client:
            assert answer_of(await send(client, user_message("hi"))) == "hi"
    assert not graph.is_open


async def test_the_result_of_an_async_function_is_served_unchanged():
    async def make():
        return compiled(None)

    async with running(build_app(make)) as url:
        assert await remembers(url)


async def test_functions_for_messages_are_not_called_to_see():
    async def echo(text="nothing"):
        return text

    with pytest.raises(TargetError, match="a served function takes"):
        build_app(echo)


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


async def until_ready(url):
    async with httpx.AsyncClient(timeout=60) as http:
        while True:
            try:
                return (await http.get(f"{url}/healthz")).status_code
            except httpx.ConnectError:
                await asyncio.sleep(0.05)


async def test_aserve_serves_in_the_running_loop_until_cancelled(graph, port):
    url = f"http://127.0.0.1:{port}"
    serving = asyncio.create_task(aserve(graph.managed, port=port))
    assert await until_ready(url) == 200
    assert await remembers(url)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert not graph.is_open
    with socket.create_server(("127.0.0.1", port)):  # it is available again
        pass


async def test_serve_in_a_running_loop_names_aserve():
    with pytest.raises(ConfigurationError, match=r"await aserve\(\.\.\.\)"):
        serve(lambda text: text)


async def test_a_port_in_use_opens_nothing(graph):
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(ListenError, match="is taken"),
    ):
        await aserve(graph.managed, port=other.getsockname()[1])
    assert not graph.is_open


async def test_a_failure_to_open_is_raised_and_the_port_given_back(port):
    async def make():
        raise OSError("no database")

    with pytest.raises(TargetError, match="opening make failed: OSError: no database"):
        await aserve(make, port=port)
    with socket.create_server(("127.0.0.1", port)):
        pass


APP = '''
import logging
import signal
import time
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from a2a_adapters import serve


@asynccontextmanager
async def make():
    """Anyio wants what is opened to be closed by the same task, as clients of MCP do."""
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep_forever)
        yield lambda text: text
        group.cancel_scope.cancel()
        Path("closed").touch()


@asynccontextmanager
async def stopped_before_the_first_request():
    """The server is stopped while it starts to listen, perhaps after logging its address."""

    def stop(record):
        if "A2A agent at" in record.getMessage():
            signal.raise_signal(signal.SIGTERM)
        return True

    logging.getLogger("uvicorn.error").addFilter(stop)
    yield lambda text: text
    Path("closed").touch()


async def fail():
    raise OSError("no database")


def stuck(text: str) -> str:
    Path("stuck").touch()
    while True:
        time.sleep(1)


if __name__ == "__main__":
    serve(stuck, port=0)
    Path("after").touch()
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_the_command_line_closes_what_it_opened(folder, sent):
    command = warm("-m", "a2a_adapters", "serve", "app:make", "--port", "0")
    with launched(command) as (server, _):
        server.send_signal(sent)
        log = server.ended()
    assert (folder / "closed").exists(), log
    assert "Traceback" not in log


def test_a_server_that_is_stopped_while_it_starts_closes_what_it_opened(folder):
    target = "app:stopped_before_the_first_request"
    done = finished("serve", target, "--port", "0")
    assert (folder / "closed").exists(), done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_names_the_line_where_opening_failed(folder):
    line = 1 + APP.splitlines().index('    raise OSError("no database")')
    for command in (["serve", "--port", "0"], ["card", "get"]):
        done = finished(*command, "app:fail")
        assert done.returncode == 2
        assert done.stderr == (
            f"a2a-adapters: app.py, line {line}: opening fail failed: OSError: no database\n"
        )


def test_a_script_with_a_stuck_thread_ends_on_ctrl_c(folder):
    with launched(warm("app.py")) as (server, url):
        call = rpc("SendMessage", {**say("x"), "configuration": {"returnImmediately": True}})
        httpx.post(url, json=call, headers=V1, timeout=PATIENCE)
        while not (folder / "stuck").exists():
            assert server.poll() is None
            time.sleep(0.05)
        server.send_signal(signal.SIGINT)
        log = server.ended()
    assert server.returncode == 0
    assert (folder / "after").exists()
    assert "stopped while 1 blocking call(s) were still running" in log


class Itself:
    """Can be opened, but no plugin supports it."""

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_error):
        return None


async def test_a_target_that_no_plugin_supports_is_refused():
    app = build_app(Itself())
    with pytest.raises(NoAdapterError):
        async with app.router.lifespan_context(app):
            pass
