"""Agents fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

import asyncio

from strands import Agent, ToolContext, tool

from a2a_adapters.testing import AdapterContract, InputRequiredContract, OnSqlite, ToolContract
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.strands.support import Fake, agent, calling, results, said
from tests.support.contracts import OnPostgresql


class Agents(AdapterContract):
    streams = True

    def made(self, model):
        return Agent(model=model, name="helper")

    def echo(self):
        return self.made(Fake(lambda messages: said(messages)[-1], streams=self.streams))

    def silent(self):
        return self.made(Fake(lambda _: " "))

    def failing(self):
        return self.made(Fake(lambda _: RuntimeError(self.secret)))

    def failing_midway(self):
        return self.made(Fake(lambda _: ["begun", RuntimeError(self.secret)]))

    def endless(self):
        return self.made(Fake(lambda _: asyncio.Event().wait()))


class Functions(Agents):
    """Functions that make an agent for every run."""

    def made(self, model):
        def make() -> Agent:
            return Agent(model=model, name="helper")

        return make


class Asking(InputRequiredContract):
    """Agents whose tool asks; their model repeats the answer."""

    streams = True

    def asking(self):
        def model(messages):
            if done := results(messages):
                return next(iter(done.values()))
            return calling("ask", call_id=f"c{len(messages)}")

        @tool(context=True)
        def ask(tool_context: ToolContext) -> str:
            """Ask the user."""
            return tool_context.interrupt("city", "which city?")

        def make() -> Agent:
            return Agent(model=Fake(model, streams=self.streams), name="helper", tools=[ask])

        return make


class TestFunctions(Functions):
    pass


class TestAsking(Asking):
    pass


class TestWithTools(ToolContract):
    def using_tools(self):
        @tool
        def look() -> str:
            """Look."""
            return "rain"

        @tool
        def breaks() -> str:
            """Break."""
            raise RuntimeError(self.secret)

        return agent(
            [calling("look"), calling("breaks", call_id="c2")], "done", tools=[look, breaks]
        )


class TestAskingOnTheSdk(OnTheSdk, Asking):
    streams = False  # there every chunk is a part


class TestFunctionsOnTheSdk(OnTheSdk, Functions):
    streams = False  # there every chunk is a part


class TestFunctionsOnSqlite(OnSqlite, Functions):
    pass


class TestAskingOnSqlite(OnSqlite, Asking):
    pass


class TestAskingOnPostgresql(OnPostgresql, Asking):
    pass


class TestSharedAgent(Agents):
    pass
