"""The connections to one agent: a client for every event loop it is called from."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import finalize, ref

from a2a.client import ClientConfig, ClientFactory
from a2a.compat.v0_3.jsonrpc_transport import CompatJsonRpcTransport
from a2a.compat.v0_3.versions import is_legacy_version
from a2a.utils.constants import TransportProtocol

from a2a_adapters.errors import RemoteAnswerError
from a2a_adapters.remote.card import fetch_card
from a2a_adapters.remote.http import make_client
from a2a_adapters.remote.jsonrpc import JsonRpcTransport

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    import httpx
    from a2a.client import Client
    from a2a.client.transports.base import ClientTransport
    from a2a.types import AgentCard

    from a2a_adapters.remote.options import RemoteOptions

_BINDINGS = [TransportProtocol.JSONRPC.value, TransportProtocol.HTTP_JSON.value]


_UNUSED_SECONDS = 1.0
"""How long what nobody uses stays open: closing is no task for an event loop that is ending."""

_kept: dict[httpx.AsyncClient, AsyncGenerator[httpx.AsyncClient]] = {}
"""What is open, with what holds it: neither may become garbage before it is closed."""

_closing: set[asyncio.Future[None]] = set()


@dataclass(frozen=True, slots=True)
class Connection:
    """What calls go through in one event loop."""

    card: AgentCard
    client: Client


class Connections:
    """Opens a connection per event loop and closes it with that loop.

    An HTTP connection belongs to the event loop it was opened in, and scripts run several one
    after the other (`asyncio.run`). Each connection is held by an async generator, because
    these are what an event loop closes before it ends.

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
        self._auth = auth
        self._options = options
        self._open: dict[asyncio.AbstractEventLoop, asyncio.Future[Connection]] = {}
        self._holders: dict[asyncio.AbstractEventLoop, AsyncGenerator[httpx.AsyncClient]] = {}
        finalize(self, _close_all, self._holders)

    async def get(self) -> Connection:
        """Return the connection of the running event loop, opened if need be.

        Raises:
            RemoteAgentError: The agent's card cannot be had.
        """
        loop = asyncio.get_running_loop()
        opening = self._open.get(loop)
        if opening is None:
            opening = self._open[loop] = asyncio.ensure_future(self._start(loop))
        try:
            return await asyncio.shield(opening)
        except BaseException:
            if opening.done() and (opening.cancelled() or opening.exception()):
                self._open.pop(loop, None)
            raise

    async def _start(self, loop: asyncio.AbstractEventLoop) -> Connection:
        http = make_client(self._url, self._options, self._auth)
        holder = _kept[http] = _hold(http, ref(self))
        await anext(holder)
        try:
            if self._card is None:
                assert self._url is not None  # noqa: S101 - one of the two is given
                self._card = await fetch_card(http, self._url, self._options)
            connection = Connection(self._card, self._client(http, self._card))
        except BaseException:
            await holder.aclose()
            raise
        self._holders[loop] = holder
        return connection

    def forget(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take note that the connection of an event loop is closed."""
        self._open.pop(loop, None)
        self._holders.pop(loop, None)

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
        except ValueError as error:
            offered = ", ".join(sorted({i.protocol_binding for i in card.supported_interfaces}))
            raise RemoteAnswerError(
                f"the agent offers {offered}; this client speaks {' and '.join(_BINDINGS)}"
            ) from error

    async def aclose(self) -> None:
        """Close what is open, in whichever event loop that is."""
        here = asyncio.get_running_loop()
        for loop, holder in list(self._holders.items()):
            if loop is here:
                await holder.aclose()
            elif loop.is_running():
                closing = asyncio.run_coroutine_threadsafe(holder.aclose(), loop)
                await asyncio.wrap_future(closing)


async def _hold(
    http: httpx.AsyncClient, owner: ref[Connections]
) -> AsyncGenerator[httpx.AsyncClient]:
    """Keep a client open until this is closed, at the latest by the event loop."""
    try:
        async with http:
            yield http
    finally:
        del _kept[http]
        if (connections := owner()) is not None:
            connections.forget(asyncio.get_running_loop())


def _close_all(holders: Mapping[asyncio.AbstractEventLoop, AsyncGenerator[object]]) -> None:
    """Close what an agent that nobody uses any more has left open."""
    for loop, holder in list(holders.items()):
        if not loop.is_closed():
            loop.call_soon_threadsafe(loop.call_later, _UNUSED_SECONDS, _close_soon, holder)


def _close_soon(holder: AsyncGenerator[object]) -> None:
    task = asyncio.ensure_future(holder.aclose())
    _closing.add(task)
    task.add_done_callback(_closing.discard)


def _json_rpc(card: AgentCard, url: str, config: ClientConfig) -> ClientTransport:
    """Make the transport for a JSON-RPC interface of either protocol version."""
    assert config.httpx_client is not None  # noqa: S101 - `_client` sets it
    versions = [i.protocol_version for i in card.supported_interfaces if i.url == url]
    is_old = all(is_legacy_version(version) for version in versions if version)
    transport = CompatJsonRpcTransport if is_old and any(versions) else JsonRpcTransport
    return transport(config.httpx_client, card, url, is_shared_httpx=True)
