"""Verification of card signatures (A2A 1.0, section 8.4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from a2a_adapters_check.jws import is_signed, key_of, signatures
from pydantic_core import from_json, to_json

from a2a_adapters.calling.card import fetch_keys
from a2a_adapters.calling.http import MAX_BYTES, make_client
from a2a_adapters.calling.verification import verify_card
from a2a_adapters.contract.errors import A2AAdaptersError, ConfigurationError

if TYPE_CHECKING:
    from a2a.types import AgentCard

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


async def verified(card: AgentCard, url: httpx.URL | None, options: RemoteOptions) -> str:
    """Return the verdict on a card that one of `options.trusted_keys` signed.

    Raises:
        CardSignatureError: None of these keys signed it.
    """
    assert options.trusted_keys is not None  # noqa: S101 - the caller has set them
    async with make_client(url, options, None) as http:
        fetch = partial(fetch_keys, http, options)
        await verify_card(card, options.trusted_keys, str(url or card.name), fetch)
    return f"{VERIFIED} by a trusted key"


def read_keys(place: str) -> str | Mapping[str, Any]:
    """Return the trusted keys in a file, or the URL of a key set unchanged.

    Raises:
        ConfigurationError: There is no such file, or it has no keys.
    """
    if "://" in place:
        return place
    try:
        content = Path(place).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"--trusted-keys {place} cannot be read: {reason}") from error
    try:
        found = from_json(content)
    except ValueError:
        found = content
    if not isinstance(found, str | Mapping):
        raise ConfigurationError(f"{place} is neither a key in PEM format nor a JSON Web Key Set")
    return found


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
