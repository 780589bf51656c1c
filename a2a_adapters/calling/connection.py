"""The connections to one agent: a client for every event loop it is called from."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from a2a.client import ClientConfig, ClientFactory
from a2a.compat.v0_3.versions import is_legacy_version
from a2a.utils.constants import TransportProtocol

from a2a_adapters.calling.card import fetch_card
from a2a_adapters.calling.clients import HttpClients
from a2a_adapters.calling.jsonrpc import JsonRpcTransport
from a2a_adapters.calling.rest import RestTransport
from a2a_adapters.errors import MissingExtraError, RemoteAnswerError
from a2a_adapters.plugins import installed_plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import httpx
    from a2a.client import Client
    from a2a.client.transports.base import ClientTransport
    from a2a.types import AgentCard

    from a2a_adapters.calling.options import RemoteOptions

_BINDINGS = [TransportProtocol.JSONRPC.value, TransportProtocol.HTTP_JSON.value]
_GRPC = TransportProtocol.GRPC.value
"""Only where it is asked for, or for agents that offer nothing else: it needs an extra."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What calls go through in one event loop."""

    card: AgentCard
    client: Client


class Connections:
    """A connection per event loop, each with the HTTP client of that loop.

    Args:
        url: The agent's address; None if its card was given.
        card: Its card, if that was given.
        auth: The credentials.
        options: Limits and choices.
        origin: The address that gets the credentials; None trusts every host that a card names.
    """

    def __init__(
        self,
        url: httpx.URL | None,
        card: AgentCard | None,
        auth: httpx.Auth | None,
        options: RemoteOptions,
        origin: httpx.URL | None,
    ) -> None:
        self._url = url
        self._origin = origin
        self._card = card
        self._options = options
        opened: dict[asyncio.AbstractEventLoop, asyncio.Future[Connection]] = {}
        self._open = opened
        self._clients = HttpClients(origin, auth, options, lambda loop: opened.pop(loop, None))

    async def get(self) -> Connection:
        """Return the connection of the running event loop, opened if need be.

        Raises:
            RemoteAgentError: The agent's card cannot be had.
        """
        loop = asyncio.get_running_loop()
        opening = self._open.get(loop)
        if opening is None:
            opening = self._open[loop] = asyncio.ensure_future(self._start())
        try:
            return await asyncio.shield(opening)
        except BaseException:
            if opening.done() and (opening.cancelled() or opening.exception()):
                self._open.pop(loop, None)
            raise

    async def _start(self) -> Connection:
        http = await self._clients.get()
        if self._card is None:
            assert self._url is not None  # noqa: S101 - one of the two is given
            self._card = await fetch_card(http, self._url, self._options)
        return Connection(self._card, self._client(http, self._card))

    def _client(self, http: httpx.AsyncClient, card: AgentCard) -> Client:
        preferred = _offered(card, self._options.bindings)
        bindings = preferred or ([_GRPC] if _is_grpc_only(card) else _BINDINGS)
        grpc = self._grpc() if _GRPC in bindings else None
        config = ClientConfig(
            httpx_client=http,
            supported_protocol_bindings=bindings,
            use_client_preference=bool(preferred),
            accepted_output_modes=list(self._options.accepted_output_modes),
        )
        factory = ClientFactory(config)
        address = str(self._url) if self._url else ""
        factory.register(TransportProtocol.JSONRPC.value, partial(_json_rpc, address))
        factory.register(TransportProtocol.HTTP_JSON.value, _rest)
        if grpc:
            factory.register(_GRPC, grpc)
        try:
            return factory.create(card)
        except RemoteAnswerError:
            raise
        except ValueError as error:
            offered = ", ".join(sorted({i.protocol_binding for i in card.supported_interfaces}))
            raise RemoteAnswerError(
                f"the agent offers {offered}; this client speaks {', '.join(_BINDINGS)} and GRPC"
            ) from error

    def _grpc(self) -> Callable[[AgentCard, str, ClientConfig], ClientTransport]:
        """Return what makes the transport for a gRPC interface of either protocol version.

        Raises:
            MissingExtraError: gRPC is not installed.
        """
        try:
            from a2a_adapters.calling.channel import grpc_url  # noqa: PLC0415 - an extra
            from a2a_adapters.calling.grpc import GrpcTransport  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise MissingExtraError("calling an agent over gRPC", "grpc") from error

        def make(card: AgentCard, url: str, config: ClientConfig) -> ClientTransport:
            assert config.httpx_client is not None  # noqa: S101 - `_client` sets it
            return GrpcTransport(
                card,
                grpc_url(url, self._origin),
                config.httpx_client,
                self._origin,
                self._options,
                self._clients.closing(),
                is_old=_is_old(card, url),
            )

        return make

    async def aclose(self) -> None:
        """Close what is open, in whichever event loop that is."""
        await self._clients.aclose()


def _json_rpc(address: str, card: AgentCard, url: str, config: ClientConfig) -> ClientTransport:
    """Make the transport for a JSON-RPC interface of either protocol version, or of a dialect."""
    assert config.httpx_client is not None  # noqa: S101 - `_client` sets it
    dialect = installed_plugins().transport(card, url, config.httpx_client, address)
    if dialect is not None:
        return dialect
    if _is_old(card, url):
        # The models of 0.3 take as long to import as a fifth of all that calling needs.
        from a2a_adapters.calling.v03_jsonrpc import OldJsonRpcTransport  # noqa: PLC0415

        return OldJsonRpcTransport(config.httpx_client, card, url)
    return JsonRpcTransport(config.httpx_client, card, url)


def _rest(card: AgentCard, url: str, config: ClientConfig) -> ClientTransport:
    """Make the transport for an HTTP+JSON interface of either protocol version."""
    assert config.httpx_client is not None  # noqa: S101 - `_client` sets it
    if _is_old(card, url):
        from a2a_adapters.calling.v03_rest import OldRestTransport  # noqa: PLC0415 - as above

        return OldRestTransport(config.httpx_client, card, url)
    return RestTransport(config.httpx_client, card, url)


def _is_old(card: AgentCard, url: str) -> bool:
    """Tell whether an interface is of A2A 0.3 and of nothing newer."""
    versions = [i.protocol_version for i in card.supported_interfaces if i.url == url]
    is_old = all(is_legacy_version(version) for version in versions if version)
    return is_old and any(versions)


def _offered(card: AgentCard, bindings: Sequence[str]) -> list[str]:
    """Return those bindings that an agent offers, in their order."""
    offered = {interface.protocol_binding for interface in card.supported_interfaces}
    return [binding for binding in bindings if binding in offered]


def _is_grpc_only(card: AgentCard) -> bool:
    """Tell whether gRPC is the only way to call an agent that is known here."""
    offered = {interface.protocol_binding for interface in card.supported_interfaces}
    return _GRPC in offered and offered.isdisjoint(_BINDINGS)
