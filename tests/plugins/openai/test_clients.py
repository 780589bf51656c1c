"""Clients other than `openai` itself, unmodified, and the example for Open WebUI."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import agents
import pytest
from langchain_openai import ChatOpenAI

from tests.plugins.openai.served import assistant, client, serving, text_of
from tests.support.processes import Server
from tests.support.warm import warm

EXAMPLE = Path(__file__).parents[3] / "examples" / "open_webui"
AGENTS = [f"{name}={EXAMPLE / 'agents.py'}:{name}" for name in ("travel", "clock", "echo")]


@pytest.mark.thorough
async def test_litellm():
    import litellm  # takes seconds, which only this test should wait for

    async with serving() as url:
        options = {"model": "openai/worker", "api_base": url, "api_key": "none"}
        messages = [{"role": "user", "content": "hello"}]
        whole = await litellm.acompletion(messages=messages, **options)
        stream = await litellm.acompletion(messages=messages, stream=True, **options)
        pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
        reject = [{"role": "user", "content": "REJECT"}]
        with pytest.raises(litellm.BadRequestError, match="not my job"):
            await litellm.acompletion(messages=reject, **options)
    assert whole.choices[0].message.content == "".join(pieces) == "worked on hello "


@pytest.mark.parametrize("uses_responses", [True, False])
async def test_langchain(uses_responses):
    async with serving() as url:
        model = ChatOpenAI(
            model="worker", base_url=url, api_key="none", use_responses_api=uses_responses
        )
        asked = await model.ainvoke("ASK")
        booked = await model.ainvoke([("user", "ASK"), asked, ("user", "Rome")])
        pieces = [chunk.text async for chunk in model.astream("hello")]
    assert asked.text == "Which city?"
    assert booked.text.startswith("took Rome in ")
    assert "".join(pieces) == "worked on hello "


@pytest.mark.parametrize("kind", [agents.OpenAIChatCompletionsModel, agents.OpenAIResponsesModel])
async def test_openai_agents(kind):
    untraced = agents.RunConfig(tracing_disabled=True)
    async with serving() as url, client(url) as openai:
        agent = agents.Agent(name="a", model=kind(model="worker", openai_client=openai))
        whole = await agents.Runner.run(agent, "hello", run_config=untraced)
        stream = agents.Runner.run_streamed(agent, "hello", run_config=untraced)
        async for _ in stream.stream_events():
            pass
    assert whole.final_output == stream.final_output == "worked on hello "


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
