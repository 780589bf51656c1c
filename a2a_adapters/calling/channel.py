"""Channels of gRPC to a remote agent: opened as carefully as connections of HTTP."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import grpc.aio
import httpx

from a2a_adapters.calling.errors import RemoteAnswerError, RemoteConnectionError
from a2a_adapters.calling.failure import NotBegunError
from a2a_adapters.calling.trust import Trust
from a2a_adapters.contract.errors import ForbiddenUrlError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters.calling.options import RemoteOptions

_HTTPS_PORT = 443


def grpc_url(address: str, origin: httpx.URL | None) -> httpx.URL:
    """Return an address of a card as a URL: `https` stands for TLS.

    The specification has `host:port`, up to 1.0.1 it had a URL. Without a scheme TLS is used as
    for the agent itself, and always at port 443.

    Raises:
        RemoteAnswerError: It is no address.
    """
    text = address.removeprefix("dns:///").strip()
    try:
        url = httpx.URL(text if "://" in text else f"grpc://{text}")
        is_address = bool(url.host) and url.scheme in {"http", "https", "grpc"}
    except (httpx.InvalidURL, UnicodeError) as error:
        raise RemoteAnswerError("the card names an address for gRPC that is none") from error
    if not is_address:
        raise RemoteAnswerError("the card names an address for gRPC that is none")
    if url.scheme == "grpc":
        is_safe = url.port == _HTTPS_PORT or (origin is not None and origin.scheme == "https")
        url = url.copy_with(scheme="https" if is_safe else "http", port=url.port)
    return url


async def open_channel(
    url: httpx.URL, origin: httpx.URL | None, options: RemoteOptions
) -> grpc.aio.Channel:
    """Return a channel to the agent's own host, or to another as the outbound policy says.

    Raises:
        RemoteConnectionError: The policy refuses the address, or its name is not known.
    """
    host, port = url.raw_host.decode("ascii"), url.port or (443 if url.scheme == "https" else 80)
    authority = f"[{host}]" if ":" in host else host
    target = f"dns:///{authority}:{port}"
    arguments: list[tuple[str, str | int]] = [
        ("grpc.max_receive_message_length", options.answer_bytes),
        ("grpc.enable_http_proxy", 0),  # as over HTTP: it would resolve the name by itself
        ("grpc.use_local_subchannel_pool", 1),
    ]
    if not Trust(origin, options.trusted_hosts).knows(url):
        target = _pinned(await _checked(url, host, port, options), port)
        arguments.append(("grpc.default_authority", f"{authority}:{port}"))
        if url.scheme == "https":
            arguments.append(("grpc.ssl_target_name_override", host))
    if url.scheme == "https":
        credentials = grpc.ssl_channel_credentials(_root_certificates())
        return grpc.aio.secure_channel(target, credentials, arguments)
    return grpc.aio.insecure_channel(target, arguments)


async def _checked(url: httpx.URL, host: str, port: int, options: RemoteOptions) -> Sequence[str]:
    try:
        options.outbound.check_form(url)
        return await options.outbound.addresses(host, port)
    except ForbiddenUrlError as error:
        raise RemoteConnectionError(
            f"the agent's card names a forbidden address: {error}"
        ) from error
    except OSError as error:
        raise RemoteConnectionError(f"{host} cannot be resolved") from error


def _root_certificates() -> bytes | None:
    """Return whom to trust as the client of HTTP does; None trusts whom gRPC knows."""
    path = os.environ.get("SSL_CERT_FILE")
    return Path(path).read_bytes() if path else None


def _pinned(addresses: Sequence[str], port: int) -> str:
    """Return a target that names nothing but the addresses that were checked."""
    is_v6 = ":" in addresses[0]
    same = [address for address in addresses if (":" in address) == is_v6]
    hosts = ",".join(f"[{address}]:{port}" if is_v6 else f"{address}:{port}" for address in same)
    return f"{'ipv6' if is_v6 else 'ipv4'}:{hosts}"


async def connect(channel: grpc.aio.Channel, seconds: float) -> None:
    """Wait until a channel is connected.

    Raises:
        NotBegunError: It cannot be.
    """
    try:
        async with asyncio.timeout(seconds):
            state = channel.get_state(try_to_connect=True)
            while state is not grpc.ChannelConnectivity.READY:
                if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
                    raise NotBegunError("the agent cannot be reached over gRPC")
                await channel.wait_for_state_change(state)
                state = channel.get_state(try_to_connect=True)
    except TimeoutError as error:
        raise NotBegunError("the agent cannot be reached over gRPC in time") from error
