"""Servers in a thread, beside a notebook or a script."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading

import pytest

from a2a_adapters import (
    A2AAdaptersError,
    ConfigurationError,
    ListenError,
    RemoteAgent,
    RemoteAgentError,
    UnsafeHostError,
    aserve,
    build_app,
    serve,
    serve_in_background,
)
from a2a_adapters.testing import running


async def greet(text: str) -> str:
    """Greet the sender."""
    return f"Hello, {text}!"


def test_synchronous_code_calls_the_agent():
    with serve_in_background(greet, name="Greeter") as agent:
        remote = RemoteAgent(agent.url)
        assert remote.send_sync("Ann").text == "Hello, Ann!"
        assert remote.describe_sync().name == "Greeter"
    assert "a2a-adapters-server" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(RemoteAgentError):
        RemoteAgent(agent.url).send_sync("Ann")


async def test_a_notebook_calls_the_agent_both_ways():
    with serve_in_background(greet) as agent:
        remote = RemoteAgent(agent.url)
        assert remote.send_sync("Ann").text == "Hello, Ann!"
        assert (await remote.send("Bob")).text == "Hello, Bob!"


def test_it_serves_several_agents_until_it_is_stopped():
    agents = serve_in_background({"hello": greet, "bye": lambda text: f"Bye, {text}!"})
    assert RemoteAgent(f"{agents.url}#bye").send_sync("Ann").text == "Bye, Ann!"
    agents.stop()
    agents.stop()


def test_it_leaves_the_log_alone(capfd):
    ours = logging.getLogger("a2a_adapters")
    before = ours.handlers, ours.propagate, ours.level
    with serve_in_background(greet):
        assert (ours.handlers, ours.propagate, ours.level) == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("target", "options", "error"),
    [
        (42, {}, A2AAdaptersError),
        (greet, {"host": "0.0.0.0"}, UnsafeHostError),
        (greet, {"host": "203.0.113.1", "allow_unauthenticated": True}, ListenError),
        (greet, {"storage": "redis://localhost"}, ConfigurationError),
    ],
)
def test_what_keeps_it_from_starting_is_raised(target, options, error):
    before = set(threading.enumerate())
    with pytest.raises(error):
        serve_in_background(target, **options)
    assert before.issuperset(threading.enumerate())


PROGRAM = """
from contextlib import asynccontextmanager

from a2a_adapters import RemoteAgent, serve_in_background


@asynccontextmanager
async def make_agent():
    yield lambda text: f"Hello, {text}!"
    print("closed", flush=True)


agent = serve_in_background(make_agent)
print(RemoteAgent(agent.url).send_sync("Ann").text)
"""


@pytest.mark.thorough
def test_it_stops_with_the_program():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("Hello, Ann!\nclosed\n", "")


CALLS = {
    "send": lambda agent: agent.send_sync("Ann"),
    "stream": lambda agent: list(agent.stream_sync("Ann")),
    "conversation": lambda agent: agent.conversation().send_sync("Ann"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.timeout(30)
async def test_a_synchronous_call_from_the_loop_that_serves_the_agent_is_refused(call, host):
    async with running(build_app(greet)) as url:
        agent = RemoteAgent(url.replace("127.0.0.1", host))
        for _ in range(2):  # also over a connection that is kept
            with pytest.raises(RemoteAgentError, match="serve_in_background"):
                call(agent)
            with pytest.raises(RemoteAgentError, match="serve_in_background"):
                RemoteAgent(url).describe_sync()
            assert (await agent.send("Bob")).text == "Hello, Bob!"
            reply = await asyncio.to_thread(agent.send_sync, "Eve")  # blocks another thread
            assert reply.text == "Hello, Eve!"


@pytest.mark.timeout(30)
async def test_aserve_refuses_synchronous_calls_of_its_loop_too(unused_tcp_port):
    serving = asyncio.create_task(aserve(greet, port=unused_tcp_port))
    agent = RemoteAgent(f"http://127.0.0.1:{unused_tcp_port}")
    assert (await agent.send("Ann")).text == "Hello, Ann!"
    with pytest.raises(RemoteAgentError, match="asynchronous"):
        agent.send_sync("Ann")
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving


async def test_serve_in_a_notebook_names_both_ways_out():
    with pytest.raises(ConfigurationError, match=r"serve_in_background.*aserve"):
        serve(greet)
