"""Agents fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

from a2a_adapters.testing import OnSqlite
from tests.plugins.agent_framework import support
from tests.plugins.agent_framework.support import tool
from tests.plugins.functions.test_contract import OnTheSdk
from tests.support.agents import contracts
from tests.support.contracts import OnPostgresql


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
