"""Agents and fixtures for tests of the command line."""

from __future__ import annotations

import asyncio
import json
import os

import pytest
import pytest_asyncio

from a2a_adapters import AgentRequest, File, InputRequired, Rejected, ServerOptions, build_app
from a2a_adapters.runtime.push import PushOptions
from a2a_adapters.testing import running
from tests.support.warm import completed


async def weather(request: AgentRequest):
    """Report the weather."""
    if "refuse" in request.text:
        yield Rejected("Not today\x1b[2J.")
        return
    if "fail" in request.text:
        raise RuntimeError("secret")
    if "endless" in request.text:
        yield "It "
        await asyncio.Event().wait()
    place = request.text
    if "ask" in place:
        place = (yield InputRequired("Where?")).text
    yield "It rains "
    yield f"in {place}\x1b[2J."
    if "draw" in request.text:
        yield File(content=b"12", media_type="image/png", filename="../../../sky.png")
        yield {"degrees": 8}


async def parts(request: AgentRequest):
    """List the received parts."""
    yield [[type(part).__name__, getattr(part, "media_type", "")] for part in request.parts]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    options = ServerOptions(push=PushOptions(), storage="memory:")
    async with running(build_app({"weather": weather, "parts": parts}, options=options)) as url:
        yield url


@pytest.fixture
def url(server):
    return f"{server}/agents/weather/"


def finished(*arguments, variables=None, **options):
    """Run a command of `a2a-adapters` to its end; return its result."""
    return completed(*arguments, env=os.environ | (variables or {}), **options)


@pytest.fixture
def run(tmp_path):
    """Return a runner of commands, isolated from the user's settings."""

    async def run(*arguments, text="", **variables):
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("A2ACLI_", "XDG_"))}
        environment = {**kept, "HOME": str(tmp_path), **variables}

        return await asyncio.to_thread(
            completed, *arguments, text=text, cwd=tmp_path, env=environment
        )

    return run


@pytest.fixture
def run_json(run):
    """Return a runner of commands that parses their single JSON document."""

    async def run_json(*arguments, **variables):
        done = await run(*arguments, "-o", "json", **variables)
        return json.loads(done.stdout)

    return run_json
