"""Agents of the SDK fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

import asyncio
from functools import partial

from agents import Agent, function_tool

from a2a_adapters.testing import AdapterContract, OnSqlite
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.openai_agents import support
from tests.plugins.openai_agents.support import Fake, calling, said
from tests.support.agents import contracts
from tests.support.contracts import OnPostgresql


class Tools(AdapterContract):
    """Agents whose tools behave as the contract requires."""

    def made(self, work):
        @function_tool(failure_error_function=None)
        async def does_it(text: str) -> str:
            return await work(text)

        def model(items):
            return calling("does_it", text=said(items)[-1])

        return Agent(
            name="helper",
            model=Fake(model),
            tools=[does_it],
            tool_use_behavior="stop_on_first_tool",
        )

    def echo(self):
        async def work(text):
            return text

        return self.made(work)

    def silent(self):
        async def work(_):
            return ""

        return self.made(work)

    def failing(self):
        async def work(_):
            raise RuntimeError(self.secret)

        return self.made(work)

    def failing_midway(self):
        agent = self.failing()
        agent.model = Fake(lambda _: ["begun", calling("does_it", text="x")])
        return agent

    def endless(self):
        return self.made(lambda _: asyncio.Event().wait())


class Asking(contracts.Asking):
    """Agents that ask for an approval."""

    support = support

    def tool(self):
        @function_tool(needs_approval=True)
        def ask(question: str) -> str:
            return "booked"

        return ask


class TestAgents(contracts.Agents):
    support = support


class TestFunctions(contracts.Functions):
    support = support


class TestTools(Tools):
    pass


class TestAsking(Asking):
    pass


class TestWithTools(contracts.Tools):
    support = support

    def ended_by_a_tool(self):
        return self.calling(partial(function_tool, failure_error_function=None))


class TestAskingOnTheSdk(OnTheSdk, Asking):
    streams = False  # there every chunk is a part


class TestAgentsOnTheSdk(OnTheSdk, contracts.Agents):
    support = support
    streams = False  # there every chunk is a part


class TestToolsOnTheSdk(OnTheSdk, Tools):
    pass


class TestAgentsOnSqlite(OnSqlite, contracts.Agents):
    support = support


class TestAgentsOnPostgresql(OnPostgresql, contracts.Agents):
    support = support


class TestAskingOnSqlite(OnSqlite, Asking):
    pass


class TestAskingOnPostgresql(OnPostgresql, Asking):
    pass
