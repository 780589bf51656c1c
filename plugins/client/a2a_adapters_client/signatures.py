"""Verification of card signatures (A2A 1.0, section 8.4.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
from a2a_adapters_check.jws import is_signed, key_of, signatures
from pydantic_core import from_json, to_json

from a2a_adapters.calling.http import MAX_BYTES, make_client
from a2a_adapters.contract.errors import A2AAdaptersError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters.calling.options import RemoteOptions


VERIFIED = "verified"
"""The first word of the verdict on a card with a valid signature."""


async def verdict(card: Mapping[str, Any], url: httpx.URL | None, options: RemoteOptions) -> str:
    """Describe a card's signatures: verified, unverifiable, or absent.

    Keys are fetched only from the host of the card: another host, named only by the card
    itself, proves nothing.

    Args:
        card: The card as JSON.
        url: URL of the card; None for a file.
        options: Client options for fetching keys.
    """
    if not card.get("signatures"):
        return "absent"
    reason = "its key is not at the agent's own host"
    for _, signature, header in signatures(card):
        if header is None or not _is_own(jku := str(header.get("jku", "")), url):
            continue
        try:
            key = key_of(await _fetched(jku, url, options), header)
            copy = from_json(to_json(card))  # parsing modifies its argument
            if key is not None and is_signed(copy, signature, header, key):
                return f"{VERIFIED} by the key at {jku}"
        except ImportError:
            return "unverifiable: pip install 'a2a-adapters[signing]'"
        if key is not None:
            reason = "no signature matches the card"
    return f"unverifiable: {reason}"


def _is_own(jku: str, url: httpx.URL | None) -> bool:
    return url is not None and jku.startswith(f"{url.scheme}://{url.netloc.decode()}/")


async def _fetched(jku: str, url: httpx.URL | None, options: RemoteOptions) -> object:
    """Return the key set at a URL, None if missing."""
    try:
        async with make_client(url, options, None) as http:
            response = await http.get(jku, extensions={MAX_BYTES: options.card_bytes})
        return response.json()
    except (httpx.HTTPError, httpx.InvalidURL, A2AAdaptersError, ValueError):
        return None
