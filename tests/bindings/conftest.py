"""An agent and its client."""

from __future__ import annotations

import grpc.aio
import pytest

from a2a_adapters import ServerOptions, build_app
from tests.support.requests import Agent, client_of, grpc_port, serving


@pytest.fixture
async def agent():
    return Agent(input_modes=["*/*"])


@pytest.fixture
async def http(agent):
    async with serving(agent) as client:
        yield client


@pytest.fixture
async def served(agent):
    """A client over HTTP and a channel over gRPC."""
    app = build_app(agent, options=ServerOptions(grpc_port=0))
    async with (
        client_of(app) as client,
        grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port(app)}") as channel,
    ):
        yield client, channel
