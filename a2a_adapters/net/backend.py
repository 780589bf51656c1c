"""A network backend of httpcore on asyncio; httpcore's own uses AnyIO, which is slower."""

from __future__ import annotations

import asyncio
import select
import socket
from asyncio.staggered import staggered_race
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, cast

import httpcore

if TYPE_CHECKING:
    import ssl

    from a2a_adapters.net.dns import Resolver

_NEXT_SECONDS = 0.25
"""Delay before the next address is also tried (RFC 8305, section 5)."""
_MOST_BYTES = 1 << 18
"""Maximum size of the receive buffer."""


async def system_addresses(host: str, port: int) -> Sequence[str]:
    """Resolve a host by the system's resolver.

    Raises:
        OSError: It has no address.
    """
    if _is_address(host):
        return [host]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class AsyncioNetwork(httpcore.AsyncNetworkBackend):
    """Connects to the address of a host that answers first.

    Args:
        addresses: Returns the addresses of a host in the order in which to try them.
    """

    def __init__(self, addresses: Resolver) -> None:
        self._addresses = addresses

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface has it
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a host.

        Raises:
            httpcore.ConnectError: The host has no address, or none that answers.
            httpcore.ConnectTimeout: No address answered in time.
        """
        connect = partial(_connect, port=port, local_address=local_address)
        try:
            async with asyncio.timeout(timeout):
                stream = await _first(connect, await self._resolved(host, port))
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"{host} did not answer in time") from error
        except (OSError, OverflowError) as error:  # OverflowError: invalid port
            raise httpcore.ConnectError(str(error)) from error
        for option in socket_options or ():
            stream.get_extra_info("socket").setsockopt(*option)
        return stream

    async def _resolved(self, host: str, port: int) -> Sequence[str]:
        try:
            return await self._addresses(host, port)
        except (OSError, UnicodeError) as error:  # UnicodeError: invalid name
            raise httpcore.ConnectError(f"{host} cannot be resolved") from error

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`."""
        await asyncio.sleep(seconds)


async def _first(connect: Callable[[str], Awaitable[_Stream]], addresses: Sequence[str]) -> _Stream:
    """Connect to the address that answers first, trying the next if one fails or is slow."""
    if len(addresses) == 1:
        return await connect(addresses[0])
    connected: list[_Stream] = []

    async def attempt(address: str) -> None:
        connected.append(await connect(address))

    attempts = [partial(attempt, address) for address in addresses]
    try:
        _, _, errors = await staggered_race(attempts, _NEXT_SECONDS)
    except BaseException:
        for stream in connected:  # cancelled just after it was connected
            stream.abort()
        raise
    if not connected:
        raise next(error for error in errors if error is not None)
    return connected[0]


async def _connect(address: str, port: int, local_address: str | None) -> _Stream:
    local = (local_address, 0) if local_address is not None else None
    stream = _Stream()
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: stream, address, port, local_addr=local)
    return stream


class _Stream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """A connection: an asyncio protocol and an httpcore stream, with one reader and one writer."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._received = bytearray()
        self._is_held_up = False
        self._is_full = False
        self._is_over = False
        self._failure: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._lost = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is not a subclass

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > _MOST_BYTES:
            self._is_held_up = True
            self._transport.pause_reading()
        _wake(self._reader)

    def eof_received(self) -> None:
        self._is_over = True
        _wake(self._reader)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over = True
        self._failure = exc
        for waiting in (self._reader, self._writer, self._lost):
            _wake(waiting)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        _wake(self._writer)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        if not self._received and not self._is_over:
            self._reader = asyncio.get_running_loop().create_future()
            await _within(timeout, self._reader, httpcore.ReadTimeout)
        if self._failure is not None and not self._received:
            raise httpcore.ReadError(str(self._failure)) from self._failure
        data = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        if self._is_held_up and not self._received and not self._is_over:
            self._is_held_up = False
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        if self._transport.is_closing():
            raise httpcore.WriteError("the connection is closed")
        self._transport.write(buffer)
        if self._is_full:
            self._writer = asyncio.get_running_loop().create_future()
            await _within(timeout, self._writer, httpcore.WriteTimeout)
        if self._lost.done():
            raise httpcore.WriteError(str(self._failure or "the server has closed it"))

    def abort(self) -> None:
        self._transport.abort()

    async def aclose(self) -> None:
        if not self._lost.done():
            self.abort()
            await asyncio.wait([self._lost])

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface has it
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                self._transport = await self._secured(ssl_context, server_hostname)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout("the server did not answer in time") from error
        except OSError as error:  # including TLS errors
            raise httpcore.ConnectError(str(error)) from error
        return self

    async def _secured(self, context: ssl.SSLContext, name: str | None) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        try:
            secured = await loop.start_tls(self._transport, self, context, server_hostname=name)
        except BaseException:
            self.abort()
            raise
        if secured is None:
            raise ConnectionError("the server has closed it")
        return secured

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":
            return self._is_over or bool(self._received) or _is_readable(self._socket())
        return self._transport.get_extra_info(_NAMES_IN_ASYNCIO.get(info, info))

    def _socket(self) -> socket.socket:
        found: socket.socket = self._transport.get_extra_info("socket")
        return found


_NAMES_IN_ASYNCIO = {"client_addr": "sockname", "server_addr": "peername"}


def _wake(waiting: asyncio.Future[None] | None) -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(None)


async def _within(
    seconds: float | None, awaited: asyncio.Future[None], error: type[Exception]
) -> None:
    """Wait for a future, and raise the error after a timeout."""
    if seconds is None:
        return await awaited
    timer = awaited.get_loop().call_later(seconds, _expire, awaited, error)
    try:
        return await awaited
    finally:
        timer.cancel()


def _expire(awaited: asyncio.Future[None], error: type[Exception]) -> None:
    if not awaited.done():
        awaited.set_exception(error())


def _is_readable(connected: socket.socket) -> bool:
    """Return whether there is unread data, or the server has closed the connection."""
    if not hasattr(select, "poll"):
        return bool(select.select([connected], [], [], 0)[0])
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return bool(poll.poll(0))
