"""The adapter contract holds for three servers behind a round-robin proxy."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from a2a_adapters.testing import AdapterContract, InputRequiredContract, connect, running
from tests.end_to_end.test_isolation import CONVERSATIONS, talk
from tests.plugins.sql.replicas.proxy import RoundRobin
from tests.support.postgresql import new_database
from tests.support.processes import launched
from tests.support.warm import warm

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]

REPLICAS = 3


@pytest.fixture(scope="module")
def servers():
    """URLs of three servers, with normal and with short time limits."""
    command = warm("-m", "tests.plugins.sql.replicas.proxied", new_database())
    with ExitStack() as stack:
        started = [stack.enter_context(launched(command)) for _ in range(REPLICAS)]
        yield (
            [url for _, url in started],
            [process.said(r"hasty agents at (\S+)")[1] for process, _ in started],
        )


class TestReplicas(AdapterContract, InputRequiredContract):
    test_it_can_be_started_again_in_another_event_loop = None  # the servers are processes

    @pytest.fixture(autouse=True)
    def _behind_the_proxy(self, servers):
        self._usual, self._hasty = servers

    def app(self, target, options=None):
        return RoundRobin(self._usual if options is None else self._hasty, target)

    def echo(self):
        return "echo"

    def silent(self):
        return "silent"

    def failing(self):
        return "failing"

    def failing_midway(self):
        return "failing_midway"

    def endless(self):
        return "endless"

    def asking(self):
        return "asking"


@pytest.mark.parametrize("agent", ["function", "graph"])
async def test_callers_are_isolated(agent, servers):
    async with (
        running(RoundRobin(servers[0], agent)) as url,
        connect(url, user="ann") as ann,
        connect(url, user="bob") as bob,
    ):
        talks = [
            talk(client, caller, number)
            for caller, client in (("ann", ann), ("bob", bob))
            for number in range(CONVERSATIONS)
        ]
        for words, answer in await asyncio.gather(*talks):
            assert answer == " ".join(words)
