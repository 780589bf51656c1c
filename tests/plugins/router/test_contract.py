"""Routers fulfil the adapter contract."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from a2a_adapters_router import Router, RouterConfig

from a2a_adapters.testing import AdapterContract, OnSqlite, running
from tests.plugins.router.providers import Provider, deployment
from tests.support.agents.contracts import OnPostgresql


class TestRouter(AdapterContract):
    @pytest.fixture(autouse=True)
    async def _providers(self):
        providers = {
            "echo": Provider(answer=None),
            "silent": Provider(answer=""),
            "failing": Provider(status=500),
            "midway": Provider(answer="begun", breaks_after=1),
            "endless": Provider(gate=asyncio.Event()),
        }
        async with AsyncExitStack() as stack:
            self._urls = {
                name: await stack.enter_async_context(running(each.app))
                for name, each in providers.items()
            }
            yield

    def _router(self, name):
        found = deployment(name, self._urls[name])
        return Router(RouterConfig(deployments=[found], prices={name: {"input": 0}}))

    def echo(self):
        return self._router("echo")

    def silent(self):
        return self._router("silent")

    def failing(self):
        return self._router("failing")

    def failing_midway(self):
        return self._router("midway")

    def endless(self):
        return self._router("endless")


class TestRouterOnSqlite(OnSqlite, TestRouter):
    pass


class TestRouterOnPostgresql(OnPostgresql, TestRouter):
    pass
