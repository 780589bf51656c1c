"""Agents for other examples to call; each is served in a separate process.

a2a-adapters serve remote_agents:flights
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate

from a2a_adapters import Data, InputRequired, Output

if TYPE_CHECKING:
    from collections.abc import Iterator

POEM = "Old pond, a frog leaps in, water's sound."
STOP_SECONDS = 10

poet = (
    ChatPromptTemplate.from_template("Write a haiku about {topic}.")
    | FakeListChatModel(responses=[POEM])
    | StrOutputParser()
)


async def flights(request):
    """Book flights."""
    day = yield InputRequired("On which day?")
    yield f"{request.text} on {day.text}: booked."


async def hotels(request):
    """Book hotels."""
    yield f"{request.text}: booked."
    yield Output([Data({"stars": 3})], name="hotel")


async def guide(_: str) -> str:
    """Know the capitals of countries."""
    return "The capital of France is Paris."


async def clerk(_):
    """Send letters that are approved."""
    approval = yield InputRequired("Shall I send it?")
    yield "The letter is sent." if approval.text == "yes" else "I throw it away."


def __getattr__(name: str):
    """Create `model_guide`, the guide with a real language model, on first use."""
    if name != "model_guide":
        raise AttributeError(name)
    from demo_server import PROMPT  # noqa: PLC0415
    from local_model import completion_model  # noqa: PLC0415

    return PromptTemplate.from_template(PROMPT) | completion_model() | StrOutputParser()


@contextlib.contextmanager
def serving(**agents: str) -> Iterator[dict[str, str]]:
    """Serve the named agents, each in a separate process, and yield their addresses."""
    with contextlib.ExitStack() as processes:
        servers = {
            name: processes.enter_context(_process(agent, name)) for name, agent in agents.items()
        }
        yield {name: _address(server) for name, server in servers.items()}


@contextlib.contextmanager
def _process(agent: str, name: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "a2a_adapters", "serve", f"remote_agents:{agent}"]
    server = subprocess.Popen(  # noqa: S603
        [*command, "--port", "0", "--name", name],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield server
    finally:
        server.terminate()
        server.communicate(timeout=STOP_SECONDS)


def _address(server: subprocess.Popen[str]) -> str:
    seen = []
    for line in server.stderr:
        seen.append(line)
        if found := re.search(r"A2A agent at (http://\S+)/,", line):
            return found[1]
    sys.exit("An agent did not start: " + "".join(seen))
