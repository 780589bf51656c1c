"""Classifies network addresses, and opens listening sockets."""

from __future__ import annotations

import enum
import errno
import functools
import ipaddress
import logging
import os
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from a2a_adapters.contract.checking import check_port
from a2a_adapters.contract.errors import ListenError

_Address: TypeAlias = IPv4Address | IPv6Address
_Network: TypeAlias = IPv4Network | IPv6Network

logger = logging.getLogger(__name__)


SHARE = "a2a_adapters.share"
"""Key in a call's state for the caller's quota key, see `share_of`."""


class Reach(enum.Enum):
    """The kind of network to which an address belongs."""

    PUBLIC = "public"
    PRIVATE = "private"
    """This machine or a private network: loopback, RFC 1918, RFC 4193, RFC 6598."""
    SPECIAL = "special"
    """Not an address of a web server: link-local, multicast, unspecified, reserved, cloud metadata,
    tunnelled."""


def _networks(*networks: str) -> tuple[_Network, ...]:
    return tuple(map(ip_network, networks))


_METADATA = _networks(
    "169.254.169.254/32",  # AWS, Azure, Google, Oracle and most others
    "168.63.129.16/32",  # Azure
    "100.100.100.200/32",  # Alibaba
    "192.0.0.192/32",  # Oracle
    "fd00:ec2::/32",  # AWS
    "fd20:ce::/32",  # Google
    "fd00:42::/32",  # Scaleway
)
_PRIVATE = _networks(
    "127.0.0.0/8",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "100.64.0.0/10",
    "::1/128",
    "fc00::/7",
)
# Listed because `is_global` differs between Python releases.
_SPECIAL = _networks(
    "192.0.0.0/24",  # IETF protocol assignments
    "192.88.99.0/24",  # 6to4 relays
    "2001::/23",  # IETF protocol assignments, Teredo among them
    "2002::/16",  # 6to4
    "3fff::/20",  # documentation
)
_UNICAST_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


def reach(text: str) -> Reach:
    """Classify an address; an IPv6 address with an embedded IPv4 address counts as the latter.

    Raises:
        ValueError: The text is not an address.
    """
    address = _embedded(ip_address(text.partition("%")[0]))
    if _is_in(address, _METADATA):
        return Reach.SPECIAL
    if _is_in(address, _PRIVATE):
        return Reach.PRIVATE
    if address.version == 6 and address not in _UNICAST_V6:
        return Reach.SPECIAL
    if address.is_multicast or not address.is_global or _is_in(address, _SPECIAL):
        return Reach.SPECIAL
    return Reach.PUBLIC


def _embedded(address: _Address) -> _Address:
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _is_in(address: _Address, networks: tuple[_Network, ...]) -> bool:
    return any(address in network for network in networks)


@functools.lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Return whether a name or address without port always means this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@functools.lru_cache(maxsize=4096)
def share_of(host: str) -> str:
    """Return the key of a client's quota: its IPv4 address or IPv6 /64 network.

    It is "" for clients on this machine, which may be proxies, and for invalid addresses.
    """
    try:
        address = _embedded(ip_address(host.partition("%")[0]))
    except ValueError:
        return ""
    if address.is_loopback:
        return ""
    return str(ip_network((address, 64), strict=False) if address.version == 6 else address)


_BACKLOG = 2048

DEFAULT_PORT = 8000

_TRIES = 100
"""Number of ports to try if the default one is in use."""


def listen(host: str, port: int | None) -> list[socket.socket]:
    """Return sockets that listen on every address of a host.

    Args:
        host: The host.
        port: The port; 0 takes a free one, and None 8000 or the next free one, which is logged.

    Raises:
        ConfigurationError: There is no such port.
        ListenError: The port is in use, or the host is not local.
    """
    if port is not None:
        check_port(port)
        return _listen(host, port)
    for each in range(DEFAULT_PORT, DEFAULT_PORT + _TRIES):
        try:
            found = _listen(host, each)
        except ListenError as error:
            if (
                not isinstance(error.__cause__, OSError)
                or error.__cause__.errno != errno.EADDRINUSE
            ):
                raise
            continue
        if each != DEFAULT_PORT:
            logger.warning("port %d is taken, serving on %d", DEFAULT_PORT, each)
        return found
    raise ListenError(f"the ports from {DEFAULT_PORT} on are taken: choose another")


def _listen(host: str, port: int) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            sockets.append(each := socket.socket(family, kind, protocol))
            if os.name == "posix":  # on Windows it would let two servers share a port
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            each.bind(address)
            each.listen(_BACKLOG)
    except OSError as error:
        for each in sockets:
            each.close()
        if error.errno == errno.EADDRINUSE:
            text = f"port {port} of {host} is taken: choose another, or 0 for a free one"
        else:
            text = f"cannot listen on port {port} of {host}: {error.strerror}"
        raise ListenError(text) from error
    return sockets
