"""Addresses of agents as people type them."""

from __future__ import annotations

from urllib.parse import urlsplit


def as_url(text: str) -> str:
    """Return an address of this machine with the scheme it lacks; any other text as it is."""
    if "://" in text:
        return text
    from a2a_adapters.net.addresses import is_loopback  # noqa: PLC0415 - it comes with httpx

    try:
        host = urlsplit(f"http://{text}").hostname
    except ValueError:
        return text
    return f"http://{text}" if host and is_loopback(host) else text
