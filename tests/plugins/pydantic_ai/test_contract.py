"""Agents fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

from pydantic_ai import CallDeferred, ToolFailed

from a2a_adapters.testing import OnSqlite
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.pydantic_ai import support
from tests.support.agents import contracts
from tests.support.contracts import OnPostgresql


class TestWorking(contracts.Working):
    support = support


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
