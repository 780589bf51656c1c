"""Agents fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from a2a_adapters.testing import OnSqlite
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.google_adk import support
from tests.support.agents import contracts
from tests.support.agents.contracts import OnPostgresql


class Asking(contracts.Asking):
    """Agents with a long-running tool, whose result is what the user says."""

    support = support

    def tool(self):
        def ask(question: str) -> None:
            """Ask the user."""

        return LongRunningFunctionTool(ask)


class Confirming(contracts.Asking):
    """Agents that ask for a confirmation."""

    support = support

    def tool(self):
        def ask(question: str) -> str:
            """Ask the user."""
            return question

        return FunctionTool(ask, require_confirmation=True)


class TestAgents(contracts.Agents):
    support = support


class TestFunctions(contracts.Functions):
    support = support


class TestAsking(Asking):
    pass


class TestConfirming(Confirming):
    pass


class TestWithTools(contracts.Tools):
    support = support

    def using_tools(self):
        handled = {"error": self.secret}
        return self.calling(support.tool, on_tool_error_callback=lambda **_: handled)

    def ended_by_a_tool(self):
        return self.calling(support.tool)


class TestAskingOnTheSdk(OnTheSdk, Asking):
    streams = False  # there every chunk is a part


class TestAgentsOnTheSdk(OnTheSdk, contracts.Agents):
    support = support
    streams = False  # there every chunk is a part


class TestConfirmingOnSqlite(OnSqlite, Confirming):
    pass


class TestAgentsOnSqlite(OnSqlite, contracts.Agents):
    support = support


class TestAskingOnSqlite(OnSqlite, Asking):
    pass


class TestAskingOnPostgresql(OnPostgresql, Asking):
    pass
