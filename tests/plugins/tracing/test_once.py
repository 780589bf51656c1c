"""Tokens that a framework has counted are not added again."""

from __future__ import annotations

import pytest
from a2a_adapters_autogen import A2AAgent as AutoGenRemote
from a2a_adapters_autogen import A2AChatCompletionClient
from a2a_adapters_langchain import A2ALLM, A2AChatModel, A2ATool
from a2a_adapters_openai_agents import A2AModel as OpenAIModel
from a2a_adapters_pydantic_ai import A2AModel as PydanticModel
from a2a_adapters_tracing import BILL
from agents import Agent as OpenAIAgent
from autogen_agentchat.agents import AssistantAgent
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from pydantic_ai import Agent as PydanticAgent

from a2a_adapters import RemoteAgent, TokenUsage, build_app
from a2a_adapters.testing import running
from tests.plugins.langchain.support import Scripted
from tests.plugins.router.providers import KEY, Provider, routed
from tests.plugins.tracing.test_bill import SHOWN, chain, inner_agent

INNER = TokenUsage(10, 1, 11)


def named_model():
    """Call the agent as a tool; the script's answers use 7 tokens each."""
    call = {"name": "inner", "args": {"message": "hello"}, "id": "1"}
    return [
        AIMessage("", tool_calls=[call], response_metadata={"model_name": "large"}),
        AIMessage("done", response_metadata={"model_name": "large"}),
    ]


def langchain_model(remote):
    return A2AChatModel(agent=remote) | StrOutputParser()


def langchain_completion(remote):
    return A2ALLM(agent=remote) | StrOutputParser()


def function(remote):
    model = langchain_model(remote)

    async def ask(text: str) -> str:
        """Use a model of a framework that does not serve this agent."""
        return await model.ainvoke(text)

    return ask


def autogen_model(remote):
    return lambda: AssistantAgent("local", A2AChatCompletionClient(remote))


def autogen_agent(remote):
    return lambda: AutoGenRemote("far", remote)


def openai_model(remote):
    return OpenAIAgent(name="local", model=OpenAIModel(remote))


def pydantic_model(remote):
    return PydanticAgent(PydanticModel(remote), name="local")


@pytest.mark.parametrize(
    ("outer", "is_counted"),
    [
        (langchain_model, True),
        (langchain_completion, False),
        (function, False),
        (autogen_model, True),
        (autogen_agent, True),
        (openai_model, True),
        (pydantic_model, True),
    ],
)
async def test_the_tokens_of_a_remote_model_count_once(outer, is_counted):
    async with chain(inner_agent, outer) as remote:
        reply = await remote.send("hello")
    assert reply.usage == INNER
    assert reply.metadata["cost_envelope"]["actual"] == 0.5
    bill = reply.metadata[BILL]
    (delegate,) = bill["delegates"]
    assert delegate.get("is_counted", False) is is_counted
    assert {name: each["total_tokens"] for name, each in bill["models"].items()} == {"small": 11}


async def test_the_tokens_of_a_tool_are_added_to_those_of_the_model():
    async with chain(inner_agent) as inner:
        tool = await A2ATool.afrom_agent(inner)
        graph = create_agent(Scripted(script=named_model()), [tool])
        async with running(build_app(graph, options=SHOWN)) as url, RemoteAgent(url) as remote:
            reply = await remote.send("hello")
    assert reply.text == "done"
    assert reply.usage == TokenUsage(16, 9, 25)
    models = reply.metadata[BILL]["models"]
    assert sum(each["total_tokens"] for each in models.values()) == 25
    assert models["small"]["total_tokens"] == 11


async def test_a_router_of_agents_counts_once_and_its_money_joins(monkeypatch):
    monkeypatch.setenv("ROUTER_KEY", KEY)
    inner = inner_agent(usd=None, model="")
    prices = {"agent": {"input": 1000, "output": 2000}, "model": {"input": 1000, "output": 2000}}
    async with routed({"agent": inner}, SHOWN, prices=prices) as routes_to_agent:
        reply = await routes_to_agent.send("hello")
    assert reply.usage == INNER
    assert reply.metadata["cost_envelope"]["actual"] == pytest.approx(0.012)
    assert reply.metadata[BILL]["delegates"][0]["is_counted"] is True

    async with routed({"model": Provider()}, prices=prices) as router:

        async def outer(text: str) -> str:
            """Ask a router."""
            return (await router.send(text)).text

        async with running(build_app(outer, options=SHOWN)) as url, RemoteAgent(url) as remote:
            reply = await remote.send("hello there")
    assert reply.metadata["cost_envelope"]["actual"] == pytest.approx(0.02)
    (model,) = reply.metadata[BILL]["models"].values()
    assert model["usd"] == pytest.approx(0.02)
