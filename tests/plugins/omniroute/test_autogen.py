"""An OmniRoute gateway as a model client."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import a2a_adapters_omniroute as omni
import pytest
from a2a_adapters_omniroute import OmniRouteChatCompletionClient
from autogen_agentchat.agents import AssistantAgent
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    SystemMessage,
    UserMessage,
)

from a2a_adapters.testing import running
from tests.plugins.omniroute.gateways import COSTS, KEY, Described


@asynccontextmanager
async def gateway(**options):
    """Yield a documented gateway and its client."""
    described = Described()
    async with running(described.app()) as url:
        client = OmniRouteChatCompletionClient(base_url=url, api_key=KEY, **options)
        yield described, client
        await client.close()


def user(text):
    return UserMessage(content=text, source="user")


async def test_an_agent_thinks_over_a_gateway():
    async with gateway(model="m") as (described, client):
        agent = AssistantAgent("writer", client, system_message="Be brief.")
        result = await agent.run(task="cats")
    assert result.messages[-1].content == "m: cats"
    roles = [message["role"] for message in described.calls[0]["params"]["messages"]]
    assert roles == ["system", "user"]


async def test_roles_and_options_are_sent():
    async with gateway(role="coding", combo="fast") as (described, client):
        said = [SystemMessage(content="s"), user("u"), AssistantMessage(content="a", source="x")]
        await client.create(said, extra_create_args={"model": "n", "budget": 1})
        assert client.last_reply.cost_envelope == COSTS["cost_envelope"]
    sent = described.calls[0]["params"]
    assert [m["role"] for m in sent["messages"]] == ["system", "user", "assistant"]
    assert sent["metadata"] == {"model": "n", "combo": "fast", "budget": 1, "role": "coding"}


async def test_text_is_streamed():
    async with gateway() as (_, client):
        chunks = [chunk async for chunk in client.create_stream([user("a b")])]
    assert chunks[:-1] == ["a ", "b"]
    assert isinstance(chunks[-1], CreateResult)
    assert chunks[-1].content == "a b"


async def test_a_token_cancels_a_stream_and_its_task():
    token = CancellationToken()
    async with gateway(role="endless") as (described, client):
        chunks = client.create_stream([user("a")], cancellation_token=token)
        assert await anext(chunks) == "a"
        waiting = asyncio.ensure_future(anext(chunks))
        await asyncio.sleep(0)
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait_for(described.is_cancelled.wait(), 60)


async def test_unsupported_messages_are_refused():
    client = OmniRouteChatCompletionClient()
    call = FunctionCall(id="c", name="add", arguments="{}")
    for wrong in (
        client.create([user("a")], tools=[{"name": "add"}]),
        client.create([user("a")], json_output=True),
        client.create([user("a")], extra_create_args={"temperature": 1}),
        client.create([AssistantMessage(content=[call], source="x")]),
    ):
        with pytest.raises(ValueError, match=r"OmniRoute|A2A agent"):
            await wrong


async def test_errors_are_typed():
    async with gateway() as (_, client):
        with pytest.raises(omni.OmniRouteBudgetError):
            await client.create([user("refuse the budget")])
        with pytest.raises(omni.OmniRouteAnswerError):
            await client.create([user("say nothing")])


def test_it_is_dumped_without_its_key():
    client = OmniRouteChatCompletionClient(api_key=KEY, model="m")
    dump = client.dump_component()
    assert KEY not in dump.model_dump_json()
    loaded = ChatCompletionClient.load_component(dump)
    assert isinstance(loaded, OmniRouteChatCompletionClient)
    assert loaded.dump_component() == dump
    assert client.remaining_tokens([]) > client.count_tokens([])
    assert client.model_info == client.capabilities
    assert client.total_usage() == client.actual_usage()


async def test_headers_and_retries_are_those_of_the_constructor():
    async with gateway(headers={"X-Team": "a"}, max_retries=1) as (described, client):
        described.unavailable = 1
        assert (await client.create([user("a")])).content == "a"
        with pytest.raises(ValueError, match="headers"):
            client.dump_component()
    assert [headers["x-team"] for headers in described.headers] == ["a", "a"]
    async with gateway(max_retries=1) as (_, client):
        assert client.dump_component().config["max_retries"] == 1
