"""Calls agents of A2A 0.3 over JSON-RPC and HTTP+JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl

if TYPE_CHECKING:
    from a2a.client.transports.base import ClientTransport

    from a2a_adapters.contract.bindings import RemoteInterface


@hookimpl
def a2a_binding_transport(interface: RemoteInterface) -> ClientTransport | None:
    """Call an agent of A2A 0.3 over JSON-RPC or HTTP+JSON."""
    if not interface.is_old or interface.protocol not in {"JSONRPC", "HTTP+JSON"}:
        return None
    # Imported late: a2a-sdk's 0.3 models take a fifth of the import time of calling.
    from a2a_adapters_v03.transports import OldJsonRpcTransport, OldRestTransport  # noqa: PLC0415

    is_rpc = interface.protocol == "JSONRPC"
    transport = OldJsonRpcTransport if is_rpc else OldRestTransport
    return transport(interface.http, interface.card, interface.url)
