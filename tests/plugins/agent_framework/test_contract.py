"""Agents fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

import asyncio

from agent_framework import Agent, tool

from a2a_adapters.testing import AdapterContract, InputRequiredContract, OnSqlite, ToolContract
from tests.plugins.agent_framework.support import Fake, agent, calling, results, said
from tests.plugins.functions.test_contract import OnTheSdk
from tests.support.contracts import OnPostgresql


class Agents(AdapterContract):
    streams = True

    def made(self, client):
        return Agent(client=client, name="helper")

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

    def made(self, client):
        def make() -> Agent:
            return Agent(client=client, name="helper")

        return make


class Asking(InputRequiredContract):
    """Agents that ask for an approval; their model repeats what the user says instead."""

    streams = True

    def asking(self):
        def model(messages):
            if done := results(messages):
                return next(iter(done.values())).rpartition("says: ")[2]
            return calling("ask", call_id=f"c{len(messages)}", question="which city?")

        @tool(approval_mode="always_require")
        def ask(question: str) -> str:
            """Ask the user."""
            return question

        return Agent(client=Fake(model, streams=self.streams), name="helper", tools=[ask])


class TestAgents(Agents):
    pass


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


class TestAgentsOnTheSdk(OnTheSdk, Agents):
    streams = False  # there every chunk is a part


class TestAgentsOnSqlite(OnSqlite, Agents):
    pass


class TestAskingOnSqlite(OnSqlite, Asking):
    pass


class TestAskingOnPostgresql(OnPostgresql, Asking):
    pass
