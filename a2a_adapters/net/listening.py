"""The sockets of a server."""

from __future__ import annotations

import errno
import os
import socket

from a2a_adapters.contract.errors import ListenError

_BACKLOG = 2048


def listen(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen at every address of a host; port 0 takes free ones.

    Raises:
        ListenError: The port is taken, or the host is not this machine's.
    """
    sockets: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            sockets.append(each := socket.socket(family, kind, protocol))
            if os.name == "posix":  # elsewhere it lets two servers have one port
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            each.bind(address)
            each.listen(_BACKLOG)
    except OSError as error:
        for each in sockets:
            each.close()
        raise _refusal(host, port, error) from error
    return sockets


def _refusal(host: str, port: int, error: OSError) -> ListenError:
    if error.errno == errno.EADDRINUSE:
        return ListenError(f"port {port} of {host} is taken: choose another, or 0 for a free one")
    return ListenError(f"no server can listen at {host}, port {port}: {error.strerror}")
