"""Agents fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

from strands import ToolContext, tool

from a2a_adapters.testing import OnSqlite
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.strands import support
from tests.support.agents import contracts
from tests.support.agents.contracts import OnPostgresql


class Asking(contracts.Asking):
    """Functions that make an agent whose tool asks."""

    support = support

    def tool(self):
        @tool(context=True)
        def ask(question: str, tool_context: ToolContext) -> str:
            """Ask the user."""
            return tool_context.interrupt("city", question)

        return ask

    def asking(self):
        return super().asking


class TestFunctions(contracts.Functions):
    support = support


class TestAsking(Asking):
    pass


class TestWithTools(contracts.Tools):
    support = support


class TestAskingOnTheSdk(OnTheSdk, Asking):
    streams = False  # there every chunk is a part


class TestFunctionsOnTheSdk(OnTheSdk, contracts.Functions):
    support = support
    streams = False  # there every chunk is a part


class TestFunctionsOnSqlite(OnSqlite, contracts.Functions):
    support = support


class TestAskingOnSqlite(OnSqlite, Asking):
    pass


class TestAskingOnPostgresql(OnPostgresql, Asking):
    pass


class TestSharedAgent(contracts.Agents):
    support = support
