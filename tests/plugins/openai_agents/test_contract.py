"""Agents of the SDK fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

from functools import partial

from agents import GuardrailFunctionOutput, function_tool, output_guardrail

from a2a_adapters.testing import AnswerContract, OnSqlite
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.openai_agents import support
from tests.support.agents import contracts
from tests.support.agents.contracts import OnPostgresql

FAILING = partial(function_tool, failure_error_function=None)
"""Makes tools whose exceptions end the run."""


class Working(contracts.Working):
    support = support

    def tool(self, function):
        return FAILING(function)


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


class TestWorking(Working):
    pass


class TestAsking(Asking):
    pass


class TestWithTools(contracts.Tools):
    support = support

    def ended_by_a_tool(self):
        return self.calling(FAILING)


class TestAnswers(AnswerContract):
    """The SDK's guardrails block; they replace nothing."""

    def blocking(self):
        @output_guardrail
        async def no_bomb(context, agent, output):
            return GuardrailFunctionOutput(self.blocked, self.blocked in output)

        return support.agent(self.blocked, output_guardrails=[no_bomb])


class TestAskingOnTheSdk(OnTheSdk, Asking):
    streams = False  # there every chunk is a part


class TestAgentsOnTheSdk(OnTheSdk, contracts.Agents):
    support = support
    streams = False  # there every chunk is a part


class TestWorkingOnTheSdk(OnTheSdk, Working):
    pass


class TestAgentsOnSqlite(OnSqlite, contracts.Agents):
    support = support


class TestAgentsOnPostgresql(OnPostgresql, contracts.Agents):
    support = support


class TestFunctionsOnSqlite(OnSqlite, contracts.Functions):
    support = support


class TestFunctionsOnPostgresql(OnPostgresql, contracts.Functions):
    support = support


class TestWorkingOnSqlite(OnSqlite, Working):
    pass


class TestWorkingOnPostgresql(OnPostgresql, Working):
    pass


class TestAskingOnSqlite(OnSqlite, Asking):
    pass


class TestAskingOnPostgresql(OnPostgresql, Asking):
    pass
