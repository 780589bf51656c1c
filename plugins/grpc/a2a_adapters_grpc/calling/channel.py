"""gRPC channels under the same outbound policy and answer limits as HTTP connections."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
import httpx

from a2a_adapters.calling.auth import Trust
from a2a_adapters.calling.errors import RemoteAnswerError, RemoteConnectionError
from a2a_adapters.calling.failures import NotBegunError
from a2a_adapters.concurrency.threads import computed_if_large
from a2a_adapters.contract.errors import ConfigurationError, ForbiddenUrlError
from a2a_adapters.net.proxies import shown_proxy
from a2a_adapters_grpc.fields import has_more_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from a2a_adapters.calling.options import RemoteOptions

_HTTPS_PORT = 443


def grpc_url(address: str, origin: httpx.URL | None) -> httpx.URL:
    """Return an address from a card as a URL; the scheme `https` stands for TLS.

    The specification wants `host:port`; up to version 1.0.1 it wanted a URL. Without a scheme, TLS
    is used at port 443, and wherever the agent's own address uses it.

    Raises:
        RemoteAnswerError: The address is invalid.
    """
    text = address.removeprefix("dns:///").strip()
    try:
        url = httpx.URL(text if "://" in text else f"grpc://{text}")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise RemoteAnswerError("the card has an invalid address for gRPC") from error
    if not url.host or url.scheme not in {"http", "https", "grpc"}:
        raise RemoteAnswerError("the card has an invalid address for gRPC")
    if url.scheme == "grpc":
        is_safe = url.port == _HTTPS_PORT or (origin is not None and origin.scheme == "https")
        url = url.copy_with(scheme="https" if is_safe else "http", port=url.port)
    return url


async def open_channel(
    url: httpx.URL, origin: httpx.URL | None, options: RemoteOptions, proxy: str
) -> grpc.aio.Channel:
    """Return a channel to the agent's own host, or to another that the outbound policy allows.

    Args:
        url: The agent's address.
        origin: The trusted address; None trusts every host that a card names.
        options: Limits and preferences.
        proxy: The URL of the HTTP proxy to connect through; "" for none.

    Raises:
        RemoteConnectionError: The policy refuses the address, or its name cannot be resolved.
        ConfigurationError: gRPC cannot use the proxy.
    """
    host, port = url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)
    authority = f"[{host}]" if ":" in host else host
    target = f"dns:///{authority}:{port}"
    arguments: list[tuple[str, str | int]] = [
        ("grpc.max_receive_message_length", options.answer_bytes),
        # gRPC would choose a proxy by rules of its own, and so pass the outbound policy by.
        ("grpc.enable_http_proxy", 0),
        ("grpc.use_local_subchannel_pool", 1),
    ]
    is_known = Trust(origin, options.trusted_hosts).knows(url)
    if proxy or not is_known:
        arguments.append(("grpc.default_authority", f"{authority}:{port}"))
        if url.scheme == "https":
            arguments.append(("grpc.ssl_target_name_override", host))
    if proxy:
        if not is_known:
            await _check_proxied(url, options)
        target = _proxy_target(proxy, arguments)
        arguments.append(("grpc.http_connect_server", f"{authority}:{port}"))
    elif not is_known:
        target = _pinned(await _checked(url, host, port, options), port)
    if url.scheme == "https":
        credentials = grpc.ssl_channel_credentials(_root_certificates())
        return grpc.aio.secure_channel(target, credentials, arguments)
    return grpc.aio.insecure_channel(target, arguments)


def _proxy_target(proxy: str, arguments: list[tuple[str, str | int]]) -> str:
    """Return the gRPC target of a proxy, and append its credentials to the arguments."""
    try:
        parsed = httpx.URL(proxy)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ConfigurationError(
            f"the proxy {shown_proxy(proxy)} cannot be used: {error}"
        ) from error
    if parsed.scheme != "http" or not parsed.host:
        raise ConfigurationError(
            f"the proxy {shown_proxy(proxy)} cannot be used: gRPC needs one at http://host:port; "
            'call another interface of the agent, such as RemoteOptions(bindings=["JSONRPC"])'
        )
    if parsed.userinfo:
        pair = base64.b64encode(f"{parsed.username}:{parsed.password}".encode()).decode()
        arguments.append(("grpc.http_connect_headers", f"Proxy-Authorization:Basic {pair}"))
    host = parsed.raw_host.decode("ascii")
    return f"dns:///{f'[{host}]' if ':' in host else host}:{parsed.port or 80}"


async def _check_proxied(url: httpx.URL, options: RemoteOptions) -> None:
    try:
        await options.outbound.check_proxied(url)
    except ForbiddenUrlError as error:
        raise _forbidden(error) from error


def _forbidden(error: ForbiddenUrlError) -> RemoteConnectionError:
    return RemoteConnectionError(f"the agent's card names a forbidden address: {error}")


async def _checked(url: httpx.URL, host: str, port: int, options: RemoteOptions) -> Sequence[str]:
    try:
        options.outbound.check_form(url)
        return await options.outbound.addresses(host, port)
    except ForbiddenUrlError as error:
        raise _forbidden(error) from error
    except OSError as error:
        raise RemoteConnectionError(f"{host} cannot be resolved") from error


def _root_certificates() -> bytes | None:
    """Return the root certificates that the HTTP client uses; None means gRPC's own."""
    path = os.environ.get("SSL_CERT_FILE")
    return Path(path).read_bytes() if path else None


def _pinned(addresses: Sequence[str], port: int) -> str:
    """Return a gRPC target that consists of the checked addresses only."""
    is_v6 = ":" in addresses[0]
    same = [address for address in addresses if (":" in address) == is_v6]
    hosts = ",".join(f"[{address}]:{port}" if is_v6 else f"{address}:{port}" for address in same)
    return f"{'ipv6' if is_v6 else 'ipv4'}:{hosts}"


async def connect(channel: grpc.aio.Channel, seconds: float, proxy: str) -> None:
    """Wait until a channel is connected, through the proxy if there is one.

    Raises:
        NotBegunError: The connection failed or took longer than `seconds`.
    """
    way = f"over gRPC through the proxy {shown_proxy(proxy)}" if proxy else "over gRPC"
    try:
        async with asyncio.timeout(seconds):
            state = channel.get_state(try_to_connect=True)
            while state is not grpc.ChannelConnectivity.READY:
                if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                    raise NotBegunError(f"the agent cannot be reached {way}")
                await channel.wait_for_state_change(state)
                state = channel.get_state(try_to_connect=True)
    except TimeoutError as error:
        raise NotBegunError(f"the agent cannot be reached {way} in time") from error


_FIELDS_PER_VALUE = 4
"""The most protobuf fields that one JSON value takes: its key, its entry, itself, its kind."""


class CountedChannel:
    """A channel for gRPC's stubs that limits the number of JSON values in an answer.

    Args:
        channel: Carries the calls.
        values: The most JSON values that an answer, or one answer of a stream, may hold.
    """

    def __init__(self, channel: grpc.aio.Channel, values: int) -> None:
        self._channel = channel
        self._values = values

    def unary_unary(
        self,
        method: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        _registered_method: bool | None = None,
    ) -> Callable[..., Any]:
        """Return a callable for a method with a single answer."""
        send: Any = self._channel.unary_unary(method, request_serializer, None)
        reading = _Reading(response_deserializer, self._values)

        async def call(request: object, *, metadata: Any, timeout: float | None = None) -> Any:  # noqa: ASYNC109 - the interface of grpc
            return await reading.of(await send(request, metadata=metadata, timeout=timeout))

        return call

    def unary_stream(
        self,
        method: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        _registered_method: bool | None = None,
    ) -> Callable[..., Any]:
        """Return a callable for a method with a stream of answers."""
        send: Any = self._channel.unary_stream(method, request_serializer, None)
        reading = _Reading(response_deserializer, self._values)

        def call(request: object, *, metadata: Any, timeout: float | None = None) -> _Stream:
            return _Stream(send(request, metadata=metadata, timeout=timeout), reading)

        return call

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close()


class _Reading:
    """Parses the answers of one method."""

    def __init__(self, parse: Any, values: int) -> None:
        self._parse = parse
        self._kind = parse.__self__
        self._values = values

    async def of(self, wire: bytes) -> Any:
        return await computed_if_large(len(wire), self._read, wire)

    def _read(self, wire: bytes) -> Any:
        if has_more_fields(wire, self._kind, _FIELDS_PER_VALUE * self._values):
            raise RemoteAnswerError(f"the agent's answer holds over {self._values:,} values")
        return self._parse(wire)


class _Stream:
    """A stream of answers."""

    def __init__(self, inner: Any, reading: _Reading) -> None:
        self._inner = inner
        self._reading = reading

    async def read(self) -> Any:
        """Return the next answer, `grpc.aio.EOF` at the end."""
        wire = await self._inner.read()
        return wire if wire is grpc.aio.EOF else await self._reading.of(wire)
