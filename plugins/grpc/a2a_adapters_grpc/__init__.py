"""The gRPC binding of A2A 1.0 and 0.3: server and client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import MissingExtraError
from a2a_adapters.plugin import hookimpl

if TYPE_CHECKING:
    from a2a.client.transports.base import ClientTransport

    from a2a_adapters import ServerOptions
    from a2a_adapters.contract.bindings import Binding, RemoteInterface
    from a2a_adapters.runtime import StreamingHandler
    from a2a_adapters.security.rates import RequestRates

PROTOCOL = "GRPC"
"""The binding's name in cards."""


@hookimpl
def a2a_binding(
    runtime: StreamingHandler, options: ServerOptions, rates: RequestRates
) -> Binding | None:
    """Serve over gRPC if the options set a port for it."""
    if options.grpc_port is None:
        return None
    try:
        from a2a_adapters_grpc.serving.server import GrpcServer  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("gRPC", "grpc") from error
    return GrpcServer(runtime, options.grpc_port, options, rates)


@hookimpl
def a2a_binding_transport(interface: RemoteInterface) -> ClientTransport | None:
    """Call an agent over gRPC."""
    if interface.protocol != PROTOCOL:
        return None
    try:
        from a2a_adapters_grpc.calling.channel import grpc_url  # noqa: PLC0415 - an extra
        from a2a_adapters_grpc.calling.transport import GrpcTransport  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtraError("calling an agent over gRPC", "grpc") from error
    return GrpcTransport(interface, grpc_url(interface.url, interface.origin))
