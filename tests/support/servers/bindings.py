"""Agents with unusual cards or bindings."""

from __future__ import annotations

from starlette.types import ASGIApp

from tests.support.servers.cards import OLD_CARD_PATH
from tests.support.servers.sdk import sdk_app
from tests.support.servers.streams import chunking

RPC_PATH = "/agents/pong/v1"


def rest_only() -> ASGIApp:
    """Supports only HTTP+JSON."""
    return sdk_app(chunking(), bindings=["HTTP+JSON"])


def grpc_first() -> ASGIApp:
    """Prefers GRPC without serving it; the second choice is JSONRPC."""
    return sdk_app(chunking(), bindings=["GRPC", "JSONRPC"])


def rpc_elsewhere() -> ASGIApp:
    """Serves JSONRPC at a path known only from its card."""
    return sdk_app(chunking(), rpc_path=RPC_PATH)


def old_card_path() -> ASGIApp:
    """Has its card at the path of A2A before 0.3 only."""
    return sdk_app(chunking(), card_path=OLD_CARD_PATH)
