"""Functions fulfil the adapter contract, on our runtime and on a2a-sdk's request handler."""

from __future__ import annotations

import asyncio
import time

import pytest
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from a2a_adapters import AgentRequest, InputRequired, as_executor
from a2a_adapters.protocol.card import build_card
from a2a_adapters.testing import AdapterContract, InputRequiredContract, OnSqlite
from tests.support.agents.contracts import OnPostgresql


class AsyncFunctions(AdapterContract, InputRequiredContract):
    def echo(self):
        async def echo(text):
            return text

        return echo

    def silent(self):
        async def silent(text):
            return None

        return silent

    def failing(self):
        async def failing(text):
            raise RuntimeError(self.secret)

        return failing

    def failing_midway(self):
        async def failing_midway(text):
            yield "begun"
            raise RuntimeError(self.secret)

        return failing_midway

    def endless(self):
        async def endless(text):
            await asyncio.Event().wait()

        return endless

    def asking(self):
        async def asking(text):
            answer = yield InputRequired("which city?")
            yield answer.text

        return asking


class BlockingFunctions(AdapterContract, InputRequiredContract):
    def echo(self):
        return lambda text: text

    def silent(self):
        return lambda text: None

    def failing(self):
        def failing(text):
            raise RuntimeError(self.secret)

        return failing

    def failing_midway(self):
        def failing_midway(text):
            yield "begun"
            raise RuntimeError(self.secret)

        return failing_midway

    def endless(self):
        def endless(request: AgentRequest):
            while not request.cancelled:
                time.sleep(0.01)

        return endless

    def asking(self):
        def asking(text):
            answer = yield InputRequired("which city?")
            yield answer.text

        return asking


class ServedByTheSdk:
    """Serves the same targets with a2a-sdk's handler, stores and routes."""

    def app(self, target, options=None):
        executor = as_executor(target, options)
        card = build_card(executor.adapter.describe(), "http://placeholder")
        handler = DefaultRequestHandler(executor, InMemoryTaskStore(), card)

        async def served_card(request: Request) -> Response:
            own = build_card(executor.adapter.describe(), str(request.base_url))
            route = create_agent_card_routes(own)[0]
            return await route.endpoint(request)

        return Starlette(
            routes=[
                Route("/.well-known/agent-card.json", served_card),
                *create_jsonrpc_routes(handler, "/"),
            ],
        )


@pytest.mark.thorough
class OnTheSdk(ServedByTheSdk):
    """Repeats the contract of a framework, which `make test` runs with functions."""


class TestAsyncFunctions(AsyncFunctions):
    pass


class TestBlockingFunctions(BlockingFunctions):
    pass


class TestAsyncFunctionsOnTheSdk(ServedByTheSdk, AsyncFunctions):
    pass


class TestBlockingFunctionsOnTheSdk(ServedByTheSdk, BlockingFunctions):
    pass


class TestAsyncFunctionsOnSqlite(OnSqlite, AsyncFunctions):
    pass


class TestAsyncFunctionsOnPostgresql(OnPostgresql, AsyncFunctions):
    pass


class TestBlockingFunctionsOnSqlite(OnSqlite, BlockingFunctions):
    pass


class TestBlockingFunctionsOnPostgresql(OnPostgresql, BlockingFunctions):
    pass
