"""Agents of the SDK fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

import asyncio

from agents import Agent, function_tool

from a2a_adapters.testing import AdapterContract, InputRequiredContract, OnSqlite, ToolContract
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.openai_agents.support import Fake, agent, calling, delta, said
from tests.support.contracts import OnPostgresql


class Agents(AdapterContract):
    streams = True

    def made(self, model):
        return Agent(name="helper", model=model)

    def echo(self):
        return self.made(Fake(lambda items: said(items)[-1], streams=self.streams))

    def silent(self):
        return self.made(Fake(lambda _: ""))

    def failing(self):
        def fail(_):
            raise RuntimeError(self.secret)

        return self.made(Fake(fail))

    def failing_midway(self):
        secret = self.secret

        class Failing(Fake):
            async def stream_response(self, *_, **__):
                yield delta("begun")
                raise RuntimeError(secret)

        return self.made(Failing(lambda _: ""))

    def endless(self):
        return self.made(Fake(lambda _: asyncio.Event().wait()))


class Functions(Agents):
    """Functions that make agents."""

    def made(self, model):
        def make() -> Agent:
            return Agent(name="helper", model=model)

        return make


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


class Asking(InputRequiredContract):
    """An agent whose tool needs approval; its model reports the decision."""

    streams = True

    def asking(self):
        @function_tool(needs_approval=True)
        def book(question: str) -> str:
            return "booked"

        def model(items):
            if items[-1].get("type") == "function_call_output":
                return items[-1]["output"]
            return calling("book", call_id=f"c{len(items)}", question="which city?")

        return Agent(name="helper", model=Fake(model, streams=self.streams), tools=[book])


class TestAgents(Agents):
    pass


class TestFunctions(Functions):
    pass


class TestTools(Tools):
    pass


class TestAsking(Asking):
    pass


class TestWithTools(ToolContract):
    def using_tools(self, **failing):
        @function_tool
        def look() -> str:
            return "rain"

        @function_tool(**failing)
        def breaks() -> str:
            raise RuntimeError(self.secret)

        calls = [calling("look"), calling("breaks", call_id="c2")]
        return agent(calls, "done", tools=[look, breaks])

    def ended_by_a_tool(self):
        return self.using_tools(failure_error_function=None)


class TestAskingOnTheSdk(OnTheSdk, Asking):
    streams = False  # there every chunk is a part


class TestAgentsOnTheSdk(OnTheSdk, Agents):
    streams = False  # there every chunk is a part


class TestToolsOnTheSdk(OnTheSdk, Tools):
    pass


class TestAgentsOnSqlite(OnSqlite, Agents):
    pass


class TestAgentsOnPostgresql(OnPostgresql, Agents):
    pass


class TestFunctionsOnSqlite(OnSqlite, Functions):
    pass


class TestFunctionsOnPostgresql(OnPostgresql, Functions):
    pass


class TestToolsOnSqlite(OnSqlite, Tools):
    pass


class TestToolsOnPostgresql(OnPostgresql, Tools):
    pass


class TestAskingOnSqlite(OnSqlite, Asking):
    pass


class TestAskingOnPostgresql(OnPostgresql, Asking):
    pass
