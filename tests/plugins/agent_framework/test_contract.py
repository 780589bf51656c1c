"""Agents fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

from agent_framework import (
    AgentResponse,
    Message,
    MiddlewareFailure,
    agent_middleware,
    chat_middleware,
)

from a2a_adapters.testing import AnswerContract, OnSqlite
from tests.plugins.agent_framework import support
from tests.plugins.agent_framework.support import tool
from tests.plugins.functions.test_contract import OnTheSdk
from tests.support.agents import contracts
from tests.support.agents.contracts import OnPostgresql


class Asking(contracts.Asking):
    """Agents that ask for an approval."""

    support = support

    def tool(self):
        @tool(approval_mode="always_require")
        def ask(question: str) -> str:
            """Ask the user."""
            return question

        return ask


class TestAgents(contracts.Agents):
    support = support


class TestFunctions(contracts.Functions):
    support = support


class TestAsking(Asking):
    pass


class TestWithTools(contracts.Tools):
    support = support


class TestAnswers(AnswerContract):
    def guarded(self):
        @agent_middleware
        async def replace(context, call_next):
            await call_next()
            if self.blocked in context.result.text:
                refusal = Message("assistant", ["I cannot help."])
                context.result = AgentResponse(messages=[refusal])

        return support.agent(self.blocked, middleware=[replace])

    def blocking(self):
        @chat_middleware
        async def block(context, call_next):
            await call_next()
            raise MiddlewareFailure(self.blocked)

        return support.agent(self.blocked, middleware=[block])

    def retrying(self):
        @chat_middleware
        async def again(context, call_next):
            try:
                await call_next()
            except RuntimeError:
                await call_next()

        answers = [["half an ", RuntimeError("it died")], "an answer"]
        return support.made(support.script(*answers), middleware=[again])


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
