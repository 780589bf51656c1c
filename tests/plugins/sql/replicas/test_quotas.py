"""Quotas of an owner apply to all processes together."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest

from a2a_adapters import BearerTokens, ServerOptions, build_app
from a2a_adapters.protocol.errors import ServerBusyError
from a2a_adapters.testing import running
from tests.plugins.sql.replicas.test_shared import ANN, BOB, LIMITS, WORKING, Replica, until
from tests.plugins.sql.test_messages import message
from tests.support.postgresql import new_database

pytestmark = pytest.mark.thorough

TOKENS = BearerTokens({"ann": "ann", "bob": "bob"})

LARGE = "large ".ljust(80_000, ".")
FEW = replace(LIMITS, running_bytes=200_000, lease_seconds=4)


async def test_usage_at_one_process_reduces_the_quota_at_another():
    url = new_database()
    async with (
        Replica(url, limits=FEW).running() as one,
        Replica(url, limits=FEW).running() as other,
    ):
        await one.begin(LARGE)
        numbers = iter(range(1000))

        async def begun(caller):
            request = message(LARGE, message_id=f"message-{caller.user.user_name}-{next(numbers)}")
            request.configuration.return_immediately = True
            return await other.runtime.on_message_send(request, caller)

        async def known():
            return other.core.live.memory.others

        await until(known, lambda others: "ann" in others)
        with pytest.raises(ServerBusyError):
            await begun(ANN)
        assert (await begun(BOB)).status.state == WORKING
        one.say("end")
        await until(known, lambda others: "ann" not in others)
        assert (await begun(ANN)).status.state == WORKING
        other.say("end", "end")


async def test_rate_limits_apply_across_processes(monkeypatch):
    minute = SimpleNamespace(time=lambda: 30.0)
    monkeypatch.setattr("a2a_adapters.security.rates.time", minute)
    limits = replace(LIMITS, requests_per_minute=100, lease_seconds=4)
    options = ServerOptions(authentication=TOKENS, storage=new_database(), limits=limits)

    @asynccontextmanager
    async def process():
        app = build_app(lambda text: text, options=options)
        async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
            yield http, app.state.agents.protection.rates

    async def passed(http, user, count):
        headers = {"A2A-Version": "1.0", "Authorization": f"Bearer {user}"}
        answers = [await http.get("/tasks", headers=headers) for _ in range(count)]
        return [answer.status_code for answer in answers].count(200)

    async with process() as (one, _), process() as (other, rates):
        assert await passed(one, "ann", 60) == 60

        async def known():
            return rates.others

        await passed(other, "bob", 1)  # starts its minute
        await until(known, lambda others: others.get("ann") == 60)
        assert await passed(other, "ann", 50) == 40
        assert await passed(other, "bob", 1) == 1
