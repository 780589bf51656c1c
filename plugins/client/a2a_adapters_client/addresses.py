"""Addresses of agents as people type them."""

from __future__ import annotations

from pathlib import Path
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


def as_web_url(text: str) -> str:
    """Return an address with the scheme it lacks: http on this machine, and https elsewhere."""
    url = as_url(text)
    return url if "://" in url else f"https://{url}"


def is_address(text: str) -> bool:
    """Tell whether a text is an agent's address, and neither a file nor `module:attribute`."""
    if "://" in as_url(text):
        return True
    host, _, port = text.partition("#")[0].partition("/")[0].partition(":")
    is_host = "." in host and not host.endswith(".py") and not Path(host).exists()
    return is_host and (not port or port.isdecimal())
