"""Whether a card is signed, and by whom (A2A 1.0, section 8.4.3)."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from functools import partial
from typing import TYPE_CHECKING

import httpx

from a2a_adapters.calling.http import MAX_BYTES, make_client
from a2a_adapters.errors import A2AAdaptersError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a.types import AgentCard
    from jwt import PyJWK

    from a2a_adapters.calling.options import RemoteOptions

_ALGORITHMS = ["ES256", "ES384", "ES512", "EdDSA", "RS256", "PS256"]
_MOST = 5


async def verdict(card: AgentCard, url: httpx.URL | None, options: RemoteOptions) -> str:
    """Say whether a card's signatures hold: verified, unverifiable, or absent.

    Keys are fetched from the host of the card alone: another one, that only the card itself
    names, vouches for nothing.

    Args:
        card: The card.
        url: Where it came from; None of one in a file.
        options: How keys are fetched.
    """
    if not card.signatures:
        return "absent"
    try:
        from a2a.utils.signing import (  # noqa: PLC0415 - an extra
            SignatureVerificationError,
            create_signature_verifier,
        )
    except ImportError:
        return "unverifiable: pip install 'a2a-adapters[signing]'"
    keys = await _keys(card, url, options)
    if not keys:
        return "unverifiable: its key is not at the agent's own host"
    verify = create_signature_verifier(partial(_key, keys), _ALGORITHMS)
    try:
        verify(card)
    except (SignatureVerificationError, ValueError):
        return "unverifiable: no signature fits the card"
    hosts = {jku for _, jku in keys}
    return f"verified by the key at {', '.join(sorted(hosts))}"


def _key(keys: Mapping[tuple[str, str], PyJWK], kid: str | None, jku: str | None) -> PyJWK:
    from jwt.exceptions import PyJWKSetError  # noqa: PLC0415 - an extra

    if (known := keys.get((kid or "", jku or ""))) is None:
        raise PyJWKSetError("no such key")  # which has the next signature tried
    return known


async def _keys(
    card: AgentCard, url: httpx.URL | None, options: RemoteOptions
) -> Mapping[tuple[str, str], PyJWK]:
    """Return the keys that signatures name, by id and by where they are."""
    from jwt import PyJWKSet  # noqa: PLC0415 - an extra
    from jwt.exceptions import PyJWTError  # noqa: PLC0415

    found: dict[tuple[str, str], PyJWK] = {}
    if url is None:
        return found
    for signature in card.signatures[:_MOST]:
        kid, jku = _names(signature.protected)
        if not jku.startswith(f"{url.scheme}://{url.netloc.decode()}/"):
            continue
        try:
            async with make_client(url, options, None) as http:
                response = await http.get(jku, extensions={MAX_BYTES: options.card_bytes})
            for key in PyJWKSet.from_dict(response.json()).keys:
                if key.key_id == kid:
                    found[kid, jku] = key
        except (httpx.HTTPError, A2AAdaptersError, PyJWTError, ValueError):
            continue
    return found


def _names(protected: str) -> tuple[str, str]:
    """Return which key a signature says it is by, and where that is."""
    try:
        padded = protected + "=" * (-len(protected) % 4)
        header = json.loads(urlsafe_b64decode(padded))
        return str(header.get("kid", "")), str(header.get("jku", ""))
    except (ValueError, AttributeError):
        return "", ""
