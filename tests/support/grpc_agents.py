"""Agents reachable only over gRPC: a card with one interface and its server."""

from __future__ import annotations

from contextlib import asynccontextmanager

import grpc.aio
import pytest
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import AgentCard
from a2a.utils.grpc_status import status_from_call
from google.rpc.error_details_pb2 import ErrorInfo
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters import RemoteAgent, RemoteOptions, ServerOptions, build_app
from a2a_adapters.plugin import PROGRESS_EXTENSION
from a2a_adapters.testing import running
from tests.support.requests import Agent, grpc_port

ONCE = RemoteOptions(retries=0, timeout=60)


def card_of(address, version="1.0", binding="GRPC"):
    card = AgentCard(name="agent", description="An agent.", version="1")
    card.capabilities.streaming = True
    card.capabilities.extensions.add(uri=PROGRESS_EXTENSION)
    card.supported_interfaces.add(url=address, protocol_binding=binding, protocol_version=version)
    return card


@asynccontextmanager
async def offering(card):
    """Serve only a card; yield its URL."""

    async def answer(_request):
        return JSONResponse(agent_card_to_dict(card))

    async with running(Starlette(routes=[Route("/.well-known/agent-card.json", answer)])) as url:
        yield url


@asynccontextmanager
async def grpc_agent(
    target=None, *, version="1.0", address="127.0.0.1:{}", auth=None, remote=ONCE, **options
):
    """Serve a target over gRPC; yield it as a remote agent."""
    app = build_app(target or Agent(), options=ServerOptions(grpc_port=0, **options))
    async with running(app):
        card = card_of(address.format(grpc_port(app)), version)
        async with offering(card) as url, RemoteAgent(url, auth=auth, options=remote) as agent:
            yield agent


async def refusal(call):
    """Return the status, `ErrorInfo` and text of a refused call or stream."""
    answer = anext(aiter(call)) if hasattr(call, "__aiter__") else call
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await answer
    error = raised.value
    info = ErrorInfo()
    status_from_call(error).details[0].Unpack(info)
    return error.code(), info, error.details()
