"""Connects to an agent through the best interface of its card, once per event loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from a2a.client import ClientConfig
from a2a.client.base_client import BaseClient
from a2a.client.transports.tenant_decorator import TenantTransportDecorator
from a2a.utils.constants import PROTOCOL_VERSION_CURRENT, VERSION_HEADER

from a2a_adapters.calling.auth import CallAuth, TrustedHostAuth, call_auth
from a2a_adapters.calling.card import fetch_card, fetch_keys
from a2a_adapters.calling.catalog import listed_names, named_agent
from a2a_adapters.calling.errors import RemoteAnswerError
from a2a_adapters.calling.http import HttpClients
from a2a_adapters.calling.interfaces import (
    HTTP_JSON,
    JSONRPC,
    at_asked_host,
    choose_interface,
    has_to_accept_modes,
    is_old,
)
from a2a_adapters.calling.transports import JsonRpcTransport, RestTransport
from a2a_adapters.calling.verification import verify_card
from a2a_adapters.contract.bindings import RemoteInterface
from a2a_adapters.contract.plugins import installed_plugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx
    from a2a.client import Client
    from a2a.client.transports.base import ClientTransport
    from a2a.types import AgentCard

    from a2a_adapters.calling.options import RemoteOptions
    from a2a_adapters.contract.telemetry import ObservedAgent


@dataclass(slots=True)
class Connection:
    """A connection to an agent in one event loop.

    Attributes:
        card: The agent's card.
        address: The URL of the called interface, with its tenant as the fragment.
        extensions: URIs of the agent's extensions.
        transport: Performs the calls.
        output_modes: Media types to accept in answers; empty means any.
        observed: Observes the calls.
        client: a2a-sdk's client over the transport, for proxies. It is slower: each event passes
            three relays for interceptors.
        http: The client of HTTP calls.
        streams: Whether to stream answers: the card declares streaming, and the agent has not
            refused it.
        status_text: Whether statuses have the text of answers; None if that is unknown.
    """

    card: AgentCard
    address: str
    extensions: frozenset[str]
    transport: ClientTransport
    output_modes: Sequence[str]
    observed: ObservedAgent
    client: Client
    http: httpx.AsyncClient
    streams: bool
    status_text: bool | None


class Connections:
    """The connections to an agent, one per event loop.

    Args:
        url: The agent's URL, or its host's URL with the agent's name as fragment; None if its card
            is given.
        card: The card, if given.
        auth: The credentials.
        options: Limits and preferences.
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
        self.name = str(url) if url else card.name if card else ""
        self._url = url
        self._origin = origin
        self._auth = auth
        self._card = card
        self._is_verified = False
        self.options = options
        opened: dict[asyncio.AbstractEventLoop, asyncio.Future[Connection]] = {}
        self._open = opened
        self._clients = HttpClients(origin, auth, options, lambda loop: opened.pop(loop, None))

    async def get(self) -> Connection:
        """Return the connection of the running event loop, opening it if necessary.

        Raises:
            RemoteAgentError: The agent's card cannot be fetched.
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
        call_auth.set(CallAuth())  # of this asyncio task; the card is for all users
        http = await self._clients.get()
        if self._card is None:
            assert self._url is not None  # noqa: S101 - one of the two is given
            observed = installed_plugins().telemetry.agent(str(self._url))
            with observed.call("GetAgentCard").whole():
                card = await self._fetch_card(http, self._url)
                await self._verify(card, http)
                self._card = card
        elif not self._is_verified:
            await self._verify(self._card, http)
        if isinstance(http.auth, TrustedHostAuth):
            http.auth.card = self._card
        return self._connection(http, self._card)

    async def _verify(self, card: AgentCard, http: httpx.AsyncClient) -> None:
        if (keys := self.options.trusted_keys) is not None:
            source = str(self._url or self._origin or card.name)
            await verify_card(card, keys, source, partial(fetch_keys, http, self.options))
        self._is_verified = True

    async def _fetch_card(self, http: httpx.AsyncClient, url: httpx.URL) -> AgentCard:
        host = str(url.copy_with(fragment=None))
        if url.fragment:
            self._url = url = await named_agent(host, url.fragment, self._auth, self.options)
            return await fetch_card(http, url, self.options)
        try:
            return await fetch_card(http, url, self.options)
        except RemoteAnswerError as error:
            names = await listed_names(host, self._auth, self.options)
            if len(names) < 2:
                raise
            shown = ", ".join(f"{host}#{name}" for name in names)
            text = f"there are several agents at {host}; name one of them: {shown}"
            raise RemoteAnswerError(text) from error

    def _connection(self, http: httpx.AsyncClient, card: AgentCard) -> Connection:
        # Needed by the operations inherited from a2a-sdk's transports.
        http.headers.setdefault(VERSION_HEADER, PROTOCOL_VERSION_CURRENT)
        # Only addresses are replaced; `RemoteAgent.card` returns the card as it is.
        called = card if self._origin is None else at_asked_host(card, self._url or self._origin)
        interface = choose_interface(called, self.options.bindings)
        transport = self._transport(http, called, interface.protocol_binding, interface.url)
        address = interface.url
        if interface.tenant:
            address = f"{address}#{interface.tenant}"
            transport = TenantTransportDecorator(transport, interface.tenant)
        modes = list(self.options.accepted_output_modes)
        if not modes and has_to_accept_modes(interface):
            modes = list(card.default_output_modes)
        config = ClientConfig(accepted_output_modes=modes)
        extensions = frozenset(extension.uri for extension in card.capabilities.extensions)
        client = BaseClient(card, config, transport, [])
        binding = interface.protocol_binding
        observed = installed_plugins().telemetry.agent(interface.url, binding, card)
        streams = card.capabilities.streaming and self.options.stream
        status_text = self.options.status_text
        return Connection(
            card,
            address,
            extensions,
            transport,
            modes,
            observed,
            client,
            http,
            streams,
            status_text,
        )

    def _transport(
        self, http: httpx.AsyncClient, card: AgentCard, binding: str, url: str
    ) -> ClientTransport:
        """Return the transport for an interface of either protocol version, or of a dialect.

        Raises:
            ConfigurationError: No plugin supports the binding, or its extra is not installed.
        """
        speaks_old = is_old(card, url)
        if binding == JSONRPC:
            address = str(self._url) if self._url else ""
            if dialect := installed_plugins().transport(card, url, http, address):
                return dialect
        if binding in {JSONRPC, HTTP_JSON} and not speaks_old:
            current = JsonRpcTransport if binding == JSONRPC else RestTransport
            return current(http, card, url)
        interface = RemoteInterface(
            protocol=binding,
            url=url,
            is_old=speaks_old,
            card=card,
            http=http,
            origin=self._origin,
            options=self.options,
            closing=self._clients.closing(),
        )
        return installed_plugins().binding_transport(interface)

    async def aclose(self) -> None:
        """Close the connections of all event loops."""
        await self._clients.aclose()
