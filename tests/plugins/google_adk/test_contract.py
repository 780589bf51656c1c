"""Agents fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

import asyncio

from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from a2a_adapters.testing import AdapterContract, InputRequiredContract, OnSqlite, ToolContract
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.google_adk.support import Fake, agent, calling, results, said
from tests.support.contracts import OnPostgresql


class Agents(AdapterContract):
    streams = True

    def made(self, model):
        return LlmAgent(model=model, name="helper")

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
        def make() -> LlmAgent:
            return LlmAgent(model=model, name="helper")

        return make


class Asking(InputRequiredContract):
    """Agents with a long-running tool, whose result is what the user says."""

    streams = True

    def asking(self):
        def act(contents):
            return results(contents).get("c1") or calling("ask", question="which city?")

        def ask(question: str) -> None:
            """Ask the user."""

        tools = [LongRunningFunctionTool(ask)]
        return LlmAgent(model=Fake(act, streams=self.streams), name="helper", tools=tools)


class Confirming(InputRequiredContract):
    """Agents that ask for a confirmation; their model repeats what the user says instead."""

    streams = True

    def asking(self):
        def act(contents):
            if done := results(contents):
                return next(iter(done.values())).rpartition("says: ")[2]
            return calling("ask", call_id=f"c{len(contents)}", question="which city?")

        def ask(question: str) -> str:
            """Ask the user."""
            return question

        tools = [FunctionTool(ask, require_confirmation=True)]
        return LlmAgent(model=Fake(act, streams=self.streams), name="helper", tools=tools)


class TestAgents(Agents):
    pass


class TestFunctions(Functions):
    pass


class TestAsking(Asking):
    pass


class TestConfirming(Confirming):
    pass


class TestWithTools(ToolContract):
    def made(self, **options):
        def look() -> str:
            """Look."""
            return "rain"

        def breaks() -> str:
            """Break."""
            raise RuntimeError(self.secret)

        calls = [calling("look"), calling("breaks", call_id="c2")]
        return agent(calls, "done", tools=[look, breaks], **options)

    def using_tools(self):
        return self.made(on_tool_error_callback=lambda **_: {"error": self.secret})

    def ended_by_a_tool(self):
        return self.made()


class TestAskingOnTheSdk(OnTheSdk, Asking):
    streams = False  # there every chunk is a part


class TestAgentsOnTheSdk(OnTheSdk, Agents):
    streams = False  # there every chunk is a part


class TestConfirmingOnSqlite(OnSqlite, Confirming):
    pass


class TestAgentsOnSqlite(OnSqlite, Agents):
    pass


class TestAskingOnSqlite(OnSqlite, Asking):
    pass


class TestAskingOnPostgresql(OnPostgresql, Asking):
    pass
