"""Agents fulfil the adapter contract, on our runtime and on a2a-sdk's handler."""

from __future__ import annotations

import threading

from a2a.types import TaskState

from a2a_adapters import current_request
from a2a_adapters.testing import OnSqlite, send, user_message
from tests.plugins.functions.test_contract import OnTheSdk
from tests.plugins.smolagents import support
from tests.support.agents import contracts


class Agents(contracts.Agents):
    support = support

    def silent(self):
        return self.made(lambda _: "")

    def endless(self):
        def wait(_):
            request = current_request()
            while not request.cancelled:
                threading.Event().wait(0.01)
            return "x"

        return self.made(wait)

    async def test_a_failure_midway_keeps_the_streamed_text(self):
        """Nothing is streamed: an answer may be refused by a check."""
        async with self.client(self.failing_midway()) as client:
            task = await send(client, user_message("hello"))
        assert task.status.state == TaskState.TASK_STATE_FAILED
        assert not task.artifacts
        assert self.secret not in str(task)


class Functions(Agents):
    """Functions that make an agent for every run."""

    def made(self, answer, **options):
        make = super().made
        return lambda: make(answer, **options)


class TestAgents(Agents):
    pass


class TestWithTools(contracts.Tools):
    support = support


class TestFunctionsOnSqlite(OnSqlite, Functions):
    pass


class TestAgentsOnTheSdk(OnTheSdk, Agents):
    pass
