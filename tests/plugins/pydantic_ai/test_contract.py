"""Agents fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent, CallDeferred, ToolFailed

from a2a_adapters.testing import AdapterContract, OnSqlite
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.pydantic_ai import support
from tests.plugins.pydantic_ai.support import Fake, calling, results, said
from tests.support.agents import contracts
from tests.support.contracts import OnPostgresql


class TestTools(AdapterContract):
    """Agents whose tools behave as the contract requires."""

    def made(self, work, *before):
        def model(messages):
            if (done := results(messages)) or not said(messages):
                return done["c1"] or " "
            return [*before, calling("does_it", text=said(messages)[-1])]

        helper = Agent(Fake(model, streams=False), name="helper")

        @helper.tool_plain
        async def does_it(text: str) -> str:
            return await work(text)

        return helper

    def echo(self):
        async def work(text):
            return text

        return self.made(work)

    def silent(self):
        async def work(_):
            return ""

        return self.made(work)

    def failing(self, *before):
        async def work(_):
            raise RuntimeError(self.secret)

        return self.made(work, *before)

    def failing_midway(self):
        return self.failing("begun")

    def endless(self):
        return self.made(lambda _: asyncio.Event().wait())


class Asking(contracts.Asking):
    """Agents whose tool call is deferred."""

    support = support

    def tool(self):
        def ask(question: str) -> str:
            """Ask the user."""
            raise CallDeferred(kind="question")

        return ask


class TestAgents(contracts.Agents):
    support = support


class TestFunctions(contracts.Functions):
    support = support


class TestAsking(Asking):
    pass


class TestWithTools(contracts.Tools):
    support = support

    def using_tools(self):
        return self.calling(support.tool, ToolFailed(self.secret))

    def ended_by_a_tool(self):
        return self.calling(support.tool)


class TestAskingOnTheSdk(OnTheSdk, Asking):
    streams = False  # there every chunk is a part


class TestAgentsOnTheSdk(OnTheSdk, contracts.Agents):
    support = support
    streams = False  # there every chunk is a part


class TestAgentsOnSqlite(OnSqlite, contracts.Agents):
    support = support


class TestAskingOnSqlite(OnSqlite, Asking):
    pass


class TestAskingOnPostgresql(OnPostgresql, Asking):
    pass
