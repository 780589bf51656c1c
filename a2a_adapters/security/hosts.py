"""Which hosts are this machine."""

from __future__ import annotations

import functools
import ipaddress


@functools.lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Tell whether a name or address, without port, can only be this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
