"""Agents fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent, CallDeferred, ToolFailed

from a2a_adapters.testing import AdapterContract, InputRequiredContract, OnSqlite, ToolContract
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.pydantic_ai.support import Fake, agent, calling, results, said
from tests.support.contracts import OnPostgresql


class Agents(AdapterContract):
    streams = True

    def made(self, model):
        return Agent(model, name="helper")

    def echo(self):
        return self.made(Fake(lambda messages: said(messages)[-1], streams=self.streams))

    def silent(self):  # the framework asks a model again that answers nothing at all
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
            return Agent(model, name="helper")

        return make


class Tools(AdapterContract):
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


class Asking(InputRequiredContract):
    """An agent whose tool asks; its model repeats the answer."""

    streams = True

    def asking(self):
        def model(messages):
            if done := results(messages):
                return next(iter(done.values()))
            return calling("ask", call_id=f"c{len(messages)}", question="which city?")

        helper = Agent(Fake(model, streams=self.streams), name="helper")

        @helper.tool_plain
        def ask(question: str) -> str:
            raise CallDeferred(kind="question")

        return helper


class TestAgents(Agents):
    pass


class TestFunctions(Functions):
    pass


class TestTools(Tools):
    pass


class TestAsking(Asking):
    pass


class TestWithTools(ToolContract):
    def using_tools(self, *, fails=False):
        helper = agent([calling("look"), calling("breaks", call_id="c2")], "done")

        @helper.tool_plain
        def look() -> str:
            return "rain"

        @helper.tool_plain
        def breaks() -> str:
            if fails:
                raise RuntimeError(self.secret)
            raise ToolFailed(self.secret)

        return helper

    def ended_by_a_tool(self):
        return self.using_tools(fails=True)


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
