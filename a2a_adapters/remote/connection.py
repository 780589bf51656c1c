"""The connections to one agent: a client for every event loop it is called from."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a.client import ClientConfig, ClientFactory
from a2a.compat.v0_3.jsonrpc_transport import CompatJsonRpcTransport
from a2a.compat.v0_3.versions import is_legacy_version
from a2a.utils.constants import TransportProtocol

from a2a_adapters.errors import RemoteAnswerError
from a2a_adapters.plugins import installed_plugins
from a2a_adapters.remote.card import fetch_card
from a2a_adapters.remote.clients import HttpClients
from a2a_adapters.remote.jsonrpc import JsonRpcTransport

if TYPE_CHECKING:
    import httpx
    from a2a.client import Client
    from a2a.client.transports.base import ClientTransport
    from a2a.types import AgentCard

    from a2a_adapters.remote.options import RemoteOptions

_BINDINGS = [TransportProtocol.JSONRPC.value, TransportProtocol.HTTP_JSON.value]


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
    """

    def __init__(
        self,
        url: httpx.URL | None,
        card: AgentCard | None,
        auth: httpx.Auth | None,
        options: RemoteOptions,
    ) -> None:
        self._url = url
        self._card = card
        self._options = options
        opened: dict[asyncio.AbstractEventLoop, asyncio.Future[Connection]] = {}
        self._open = opened
        self._clients = HttpClients(url, auth, options, lambda loop: opened.pop(loop, None))

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
        config = ClientConfig(
            httpx_client=http,
            supported_protocol_bindings=_BINDINGS,
            accepted_output_modes=list(self._options.accepted_output_modes),
        )
        factory = ClientFactory(config)
        factory.register(TransportProtocol.JSONRPC.value, _json_rpc)
        try:
            return factory.create(card)
        except RemoteAnswerError:
            raise
        except ValueError as error:
            offered = ", ".join(sorted({i.protocol_binding for i in card.supported_interfaces}))
            raise RemoteAnswerError(
                f"the agent offers {offered}; this client speaks {' and '.join(_BINDINGS)}"
            ) from error

    async def aclose(self) -> None:
        """Close what is open, in whichever event loop that is."""
        await self._clients.aclose()


def _json_rpc(card: AgentCard, url: str, config: ClientConfig) -> ClientTransport:
    """Make the transport for a JSON-RPC interface of either protocol version."""
    assert config.httpx_client is not None  # noqa: S101 - `_client` sets it
    dialect = installed_plugins().transport(card, url, config.httpx_client)
    if dialect is not None:
        return dialect
    versions = [i.protocol_version for i in card.supported_interfaces if i.url == url]
    is_old = all(is_legacy_version(version) for version in versions if version)
    transport = CompatJsonRpcTransport if is_old and any(versions) else JsonRpcTransport
    return transport(config.httpx_client, card, url, is_shared_httpx=True)
