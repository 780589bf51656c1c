"""Processes that share a database share limits; those of killed processes are released."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from a2a_adapters import RemoteAgent, RemoteTaskError
from a2a_adapters.testing import running
from tests.plugins.router.providers import ANSWER, KEY, Provider, deployment
from tests.plugins.sql.conftest import new_url
from tests.support.processes import PATIENCE, launched
from tests.support.warm import warm

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(5 * PATIENCE)]

LITELLM = "a2a_adapters_router.models:litellm"
"""Seconds to import litellm."""


class Replicas:
    """Starts processes that serve one router over one provider."""

    def __init__(self, folder, storage, provider, **settings):
        self._file, self._storage = folder / "router.yaml", storage
        patient = {"timeout_seconds": 1000, "cooldown_seconds": 0}
        found = [deployment("one", provider)]
        router = {"deployments": found, "prices": {"one": {"request": 0.1}}, **patient, **settings}
        self._file.write_text(json.dumps(router))  # JSON is valid YAML

    def running(self):
        command = ["-m", "a2a_adapters", "serve", str(self._file), "--port", "0"]
        environment = {**os.environ, "ROUTER_KEY": KEY}
        command = warm(*command, "--storage", self._storage, prepared=LITELLM)
        return launched(command, environment)


async def test_a_hundred_concurrent_calls_to_two_processes_respect_a_budget_for_forty(tmp_path):
    provider = Provider(gate=asyncio.Event())
    quotas = [{"provider": "openai", "per": "month", "usd": 4}]
    storage = new_url("postgresql", tmp_path)
    async with running(provider.app) as address:
        replicas = Replicas(tmp_path, storage, address, quotas=quotas)
        with replicas.running() as (_, first), replicas.running() as (_, second):
            async with RemoteAgent(first) as one, RemoteAgent(second) as two:
                texts = [f"hello {n}" for n in range(100)]
                asked = [(one, two)[n % 2].send(text) for n, text in enumerate(texts)]
                asking = {asyncio.ensure_future(each) for each in asked}
                refused = set()
                while len(refused) < 60:
                    done, asking = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
                    refused |= done
                provider.gate.set()
                replies = await asyncio.gather(*asking)
                reports = [await each.send("?", metadata=QUOTAS) for each in (one, two)]
    assert len(provider.calls) == len(replies) == 40
    assert all(isinstance(each.exception(), RemoteTaskError) for each in refused)
    for each in reports:
        quota = each.data[0][0]["quotas"][0]
        assert quota["used"]["requests"] == 40
        assert quota["left"]["usd"] == pytest.approx(0)


QUOTAS = {"skill": "quota-management"}


async def test_reservations_of_a_killed_process_are_released(tmp_path):
    provider = Provider(gate=asyncio.Event())
    quotas = [{"owner": "*", "per": "month", "requests": 1}]
    storage = f"sqlite:///{tmp_path}/router.db"
    async with running(provider.app) as address:
        replicas = Replicas(tmp_path, storage, address, quotas=quotas, lease_seconds=2)
        with replicas.running() as (process, url):
            async with RemoteAgent(url) as agent:
                asking = asyncio.ensure_future(agent.send("hello"))
                await provider.asked.wait()
                process.kill()
                await asyncio.gather(asking, return_exceptions=True)
        provider.gate.set()
        with replicas.running() as (_, url):
            async with RemoteAgent(url) as agent:
                reply = await let_through(agent)
                with pytest.raises(RemoteTaskError, match="no budget or quota"):
                    await agent.send("hello")
    assert reply.text == ANSWER


async def let_through(agent):
    """Retry until a quota is available."""
    while True:
        try:
            return await agent.send("hello")
        except RemoteTaskError:
            continue
