"""The command line, with the example for Open WebUI."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from tests.plugins.openai.served import assistant, client, text_of
from tests.support.processes import Server
from tests.support.warm import warm

EXAMPLE = Path(__file__).parents[3] / "examples" / "open_webui"
AGENTS = [f"{name}={EXAMPLE / 'agents.py'}:{name}" for name in ("travel", "clock", "echo")]


def test_the_composition_is_valid():
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    subprocess.run([*check, EXAMPLE / "compose.yaml"], check=True)


async def test_serve_prints_the_address_for_front_ends():
    command = warm("-m", "a2a_adapters", "serve", *AGENTS, "--dialect", "openai", "--port", "0")
    process = await asyncio.to_thread(Server, command, None)
    try:
        address = r"OpenAI-compatible API at (http://\S+/v1)"
        [url] = (await asyncio.to_thread(process.said, address)).groups()
        async with client(url) as api:
            models = [model.id async for model in api.models.list()]
            asked = await text_of(api, "A trip", model="travel")
            plan = await text_of(api, "A trip", assistant(asked), "Rome", model="travel")
    finally:
        process.terminate()
        await asyncio.to_thread(process.ended)
    assert models == ["travel", "clock", "echo"]
    assert (asked, plan.startswith("A week in Rome")) == ("Which city?", True)
