"""Agents fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

from pydantic_ai import CallDeferred, ModelResponse, TextPart, ToolFailed
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.models.fallback import FallbackModel

from a2a_adapters import BlockedError
from a2a_adapters.testing import AnswerContract, OnSqlite
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.pydantic_ai import support
from tests.support.agents import contracts
from tests.support.agents.contracts import OnPostgresql


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


class TestAnswers(AnswerContract):
    def guarded(self):
        hooks = Hooks(
            after_model_request=self._checking(ModelResponse([TextPart("I cannot help.")]))
        )
        return support.agent(self.blocked, capabilities=[hooks])

    def blocking(self):
        hooks = Hooks(after_model_request=self._checking(BlockedError()))
        return support.agent(self.blocked, capabilities=[hooks])

    def retrying(self):
        dying = support.Fake(lambda _: ["half an ", ModelAPIError("first", "it died")])
        return support.made(FallbackModel(dying, support.script("an answer")))

    def _checking(self, outcome):
        async def check(ctx, *, request_context, response):
            if self.blocked not in str(response.parts):
                return response
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        return check


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
