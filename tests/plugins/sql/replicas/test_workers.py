"""`serve --workers N`: processes that share a port and are restarted when they die."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import httpx
import psutil
import pytest
from a2a_adapters_server.settings import ServerSettings
from a2a_adapters_server.workers import check
from prometheus_client.parser import text_string_to_metric_families

from a2a_adapters.contract.errors import ConfigurationError
from tests.support.postgresql import new_database
from tests.support.processes import launched
from tests.support.requests import call, say

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]

POSTGRESQL = "postgresql://me@host/agents"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"storage": "memory:"}, "cannot share a storage of memory:"),
        ({"storage": "sqlite:///agents.db"}, "cannot share a storage of sqlite:"),
        ({"storage": POSTGRESQL, "grpc_port": 0}, "gRPC"),
    ],
)
def test_storages_that_cannot_be_shared_are_refused(settings, reason):
    with pytest.raises(ConfigurationError, match=reason):
        check(ServerSettings(workers=2, **settings))


def command(target, *options):
    serve = [sys.executable, "-m", "a2a_adapters", "serve", target, "--port", "0"]
    return [*serve, "--workers", "2", "--storage", new_database(), *options]


async def ask(url):
    """Return the process that answers on a new connection."""
    message = say("I am", messageId=os.urandom(8).hex())
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        answer = await call(http, "SendMessage", message)
    [artifact] = answer["result"]["task"]["artifacts"]
    return int(artifact["parts"][0]["text"].removeprefix("I am "))


async def processes(url, without=()):
    """Wait for two processes other than the given ones to answer."""
    found = set()
    while True:
        found |= {await ask(url) for _ in range(10)} - set(without)
        if len(found) == 2:
            return found
        await asyncio.sleep(0.1)


async def test_a_killed_worker_is_restarted_and_all_end_together():
    with launched(command("tests.plugins.sql.replicas.served:who")) as (parent, url):
        first = await processes(url)
        killed = min(first)
        os.kill(killed, signal.SIGKILL)
        second = await processes(url, without=[killed])
        assert first - {killed} < second
        parent.terminate()
        assert parent.wait(100) == 0
        gone = [psutil.Process(pid) for pid in second if psutil.pid_exists(pid)]
        assert psutil.wait_procs(gone, timeout=60)[1] == []


async def test_every_worker_serves_the_metrics_of_all():
    with launched(command("tests.plugins.sql.replicas.served:who", "--metrics")) as (parent, url):
        await processes(url)
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            shown = (await http.get("/metrics")).text
            samples = [
                (sample.labels["worker"], sample.value)
                for family in text_string_to_metric_families(shown)
                for sample in family.samples
                if sample.name == "a2a_tasks_total"
            ]
            assert {worker for worker, _ in samples} == {"0", "1"}
            assert shown.count("# TYPE a2a_tasks_total counter") == 1
            assert sum(value for _, value in samples) % 10 == 0
            assert (await http.get("/livez")).json() == {"status": "alive"}
        parent.terminate()
        assert parent.wait(100) == 0


async def test_workers_end_with_their_parent():
    with launched(command("tests.plugins.sql.replicas.served:who")) as (parent, url):
        workers = [psutil.Process(pid) for pid in await processes(url)]
        parent.kill()
        assert psutil.wait_procs(workers, timeout=100)[1] == []


def test_an_invalid_target_ends_all_workers():
    served = launched(command("tests.plugins.sql.replicas.served:nobody"))
    with pytest.raises(AssertionError, match="has no attribute"), served:
        pass
