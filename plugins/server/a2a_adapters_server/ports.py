"""The port of a server that may choose one."""

from __future__ import annotations

import errno
import logging

from a2a_adapters.contract.errors import ListenError
from a2a_adapters.net.addresses import listen

logger = logging.getLogger("a2a_adapters.cli")

_TRIES = 100


def free_port(host: str, first: int) -> int:
    """Return the first free port from `first` on; log it if it is another one.

    Raises:
        ListenError: All of the next 100 are taken, or the host is not local.
    """
    for port in range(first, first + _TRIES):
        try:
            sockets = listen(host, port)
        except ListenError as error:
            if not _is_taken(error) or port == first + _TRIES - 1:
                raise
            continue
        for each in sockets:
            each.close()
        if port != first:
            logger.warning("port %d is taken, serving on %d (--port chooses one)", first, port)
        return port
    raise AssertionError  # pragma: no cover - the last try returns or raises


def _is_taken(error: ListenError) -> bool:
    return isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EADDRINUSE
