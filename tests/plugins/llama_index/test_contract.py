"""Agents and workflows fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

import asyncio

from workflows import Context
from workflows.events import HumanResponseEvent, InputRequiredEvent

from a2a_adapters.testing import AdapterContract, InputRequiredContract, OnSqlite
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.llama_index import support
from tests.plugins.llama_index.flows import Booking, Flow, spoken
from tests.plugins.llama_index.support import waiting
from tests.support.agents import contracts
from tests.support.agents.contracts import OnPostgresql


class Asking(contracts.Asking):
    """Agents whose tool asks."""

    support = support

    def tool(self):
        async def ask(ctx: Context, question: str) -> str:
            """Ask the user."""
            reply = await ctx.wait_for_event(
                HumanResponseEvent, waiter_event=InputRequiredEvent(prefix=question)
            )
            return reply.response

        return waiting(ask)


class Agents(contracts.Agents):
    support = support

    def silent(self):
        return self.made(lambda _: "")


class TestAgents(Agents):
    pass


class TestAsking(Asking):
    pass


class TestWithTools(contracts.Tools):
    support = support


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


class TestWorkflows(AdapterContract):
    def echo(self):
        async def answer(ctx, text):
            spoken(ctx, text)
            return text

        return Flow(answer)

    def silent(self):
        async def answer(ctx, text):
            return None

        return Flow(answer)

    def failing(self):
        async def answer(ctx, text):
            raise RuntimeError(self.secret)

        return Flow(answer)

    def failing_midway(self):
        async def answer(ctx, text):
            spoken(ctx, "begun")
            raise RuntimeError(self.secret)

        return Flow(answer)

    def endless(self):
        async def answer(ctx, text):
            await asyncio.Event().wait()

        return Flow(answer)


class TestWorkflowsOnSqlite(OnSqlite, TestWorkflows):
    pass


class TestAskingWorkflows(InputRequiredContract):
    def asking(self):
        return Booking()
