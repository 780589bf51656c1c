"""Callers learn why an agent failed by a category; the log has the cause."""

from __future__ import annotations

import asyncio
import logging

import httpx
import openai
import pytest
from a2a.types import TaskState
from a2a_adapters_langchain import adapt as langchain_adapt
from agents import Agent, OpenAIChatCompletionsModel, function_tool
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.openai import OpenAIChatCompletionClient
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph

from a2a_adapters import Limits, RemoteAgent, ServerOptions, build_app
from a2a_adapters.plugin import AgentFailedError
from a2a_adapters.testing import connect, running, send, user_message
from tests.plugins.langchain.support import Scripted, call, calling
from tests.plugins.openai_agents.support import Fake
from tests.plugins.openai_agents.support import calling as sdk_calling
from tests.support.openai_endpoint import REFUSING, SECRET, STATUSES, UNREACHABLE, said_of


def langchain_model(address):
    return ChatOpenAI(model="gpt-4o", base_url=address, api_key=SECRET, max_retries=0)


def langgraph_agent(address):
    return create_agent(langchain_model(address), [])


def tool_with_agent(address):
    """An agent with a tool that runs another agent, whose model fails."""

    @tool
    async def ask(question: str) -> str:
        """Ask an expert."""
        inner = create_agent(langchain_model(address), [])
        return str(await inner.ainvoke({"messages": [("user", question)]}))

    return create_agent(Scripted(script=[calling(call("ask", question="x"))]), [ask])


def sdk_agent(address):
    client = openai.AsyncOpenAI(base_url=address, api_key=SECRET, max_retries=0)
    return Agent(name="helper", model=OpenAIChatCompletionsModel("gpt-4o", client))


def autogen_agent(address):
    model = OpenAIChatCompletionClient(
        model="gpt-4o", base_url=address, api_key=SECRET, max_retries=0
    )
    return AssistantAgent("helper", model)


def autogen_team(address):
    return lambda: RoundRobinGroupChat([autogen_agent(address)], max_turns=1)


def function(address):
    client = openai.AsyncOpenAI(base_url=address, api_key=SECRET, max_retries=0)

    async def ask(text: str) -> str:
        try:
            await client.responses.create(model="gpt-4o", input=text)
        except openai.OpenAIError as error:
            raise RuntimeError(SECRET) from error
        return ""

    return ask


def remote_agent(address):
    async def ask(text: str) -> str:
        return (await RemoteAgent(address).send(text)).text

    return ask


async def failed(target, options=None):
    async with running(build_app(target, options=options)) as url, connect(url) as client:
        task = await send(client, user_message("hello"))
    assert task.status.state == TaskState.TASK_STATE_FAILED
    return said_of(task)


MODELS = [
    langchain_model,
    langgraph_agent,
    tool_with_agent,
    sdk_agent,
    autogen_agent,
    autogen_team,
    function,
]


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize(("status", "category"), STATUSES)
async def test_a_provider_answers_with_an_error(make, status, category):
    async with running(REFUSING) as address:
        found, text = await failed(make(f"{address}/{status}/v1"))
    assert (found, "model" in text) == (category, True)


@pytest.mark.parametrize(
    ("status", "category"), [(404, "model_refused"), (429, "model_unavailable")]
)
async def test_other_errors_of_a_provider(status, category):
    async with running(REFUSING) as address:
        assert (await failed(function(f"{address}/{status}/v1")))[0] == category


@pytest.mark.parametrize("make", [*MODELS, remote_agent])
async def test_a_provider_cannot_be_reached(make):
    category, _ = await failed(make(UNREACHABLE))
    assert category == "model_unavailable"


class Broken(Scripted):
    """A model of an unknown library."""

    error: object

    async def _astream(self, *_, **__):
        raise self.error
        yield


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (httpx.ConnectError(SECRET), "model_unavailable"),
        (TimeoutError(SECRET), "model_unavailable"),
        (ZeroDivisionError(SECRET), "internal"),
    ],
)
async def test_a_model_of_an_unknown_library(error, category):
    found, _ = await failed(create_agent(Broken(script=[], error=error), []))
    assert found == category


def langgraph_tool():
    @tool
    def lookup(city: str) -> str:
        """Look up a city."""
        raise httpx.ConnectError(SECRET)

    return create_agent(Scripted(script=[calling(call("lookup", city="Rome"))]), [lookup])


def chain_tool():
    return (
        RunnableLambda(lambda text: {"city": text})
        | langgraph_tool().nodes["tools"].bound.tools_by_name["lookup"]
    )


def sdk_tool():
    @function_tool(failure_error_function=None)
    def lookup(city: str) -> str:
        raise ValueError(SECRET)

    return Agent(
        name="helper", model=Fake(lambda _: sdk_calling("lookup", city="Rome")), tools=[lookup]
    )


@pytest.mark.parametrize("make", [langgraph_tool, chain_tool, sdk_tool])
async def test_a_tool_fails(make):
    category, _ = await failed(make())
    assert category == "tool"


def with_call_limit():
    limit = ModelCallLimitMiddleware(run_limit=1, exit_behavior="error")
    return create_agent(Scripted(script=[calling(call("go"))]), [go], middleware=[limit])


@tool
def go() -> str:
    """Go on."""
    return "gone"


def endless_sdk_agent():
    @function_tool
    def go_on() -> str:
        return "gone"

    return Agent(name="helper", model=Fake(lambda _: sdk_calling("go_on")), tools=[go_on])


def failing_by_itself():
    async def fail(text: str) -> str:
        raise AgentFailedError("limit", "This agent has a budget.")

    return fail


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (with_call_limit, "limit"),
        (endless_sdk_agent, "10 calls of its model"),
        (failing_by_itself, "This agent has a budget."),
    ],
)
async def test_a_limit_is_reached(make, expected):
    category, text = await failed(make())
    assert (category, expected in text) == ("limit", True)


async def test_the_time_is_up():
    async def slow(text: str) -> str:
        await asyncio.Event().wait()

    category, _ = await failed(slow, ServerOptions(limits=Limits(run_seconds=0.1)))
    assert category == "limit"


async def test_a_bug_is_internal_and_the_log_has_it_in_one_line(caplog):
    async def wrong(text: str) -> str:
        raise KeyError(f"{SECRET}\nforged")

    with caplog.at_level(logging.ERROR, "a2a_adapters"):
        category, text = await failed(wrong)
    assert (category, text.split(" Error")[0]) == ("internal", "The agent failed.")
    (record,) = caplog.records
    line = record.getMessage()
    assert f"error id {text.split()[-1]}: KeyError: " in line
    assert "\n" not in line
    assert record.exc_info[0] is KeyError


def looping(limit=None):
    def step(state):
        return {"messages": [("ai", "on and on")]}

    builder = StateGraph(MessagesState)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_edge("step", "step")
    graph = builder.compile()
    return graph.with_config({"recursion_limit": limit}) if limit else graph


def looping_agent():
    return create_agent(Scripted(script=[calling(call("go"))]), [go])


@pytest.mark.parametrize(
    ("make", "steps"),
    [
        (looping, 100),
        (looping_agent, 100),
        (lambda: looping(7), 7),
        (lambda: langchain_adapt(looping(7), config=lambda _: {"recursion_limit": 9}), 9),
    ],
)
async def test_a_graph_that_does_not_end(make, steps):
    category, text = await failed(make())
    assert category == "limit"
    assert text.startswith(f"The agent did not finish within {steps} steps. ")


async def test_the_step_limit_of_all_graphs_of_a_process(monkeypatch):
    monkeypatch.setenv("LANGGRAPH_DEFAULT_RECURSION_LIMIT", "12")
    _, text = await failed(looping_agent())
    assert "12 steps" in text
