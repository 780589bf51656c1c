"""Parsing and verification of card signatures (A2A 1.0, section 8.4)."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import ParseError

from a2a_adapters.calling.card import card_of
from a2a_adapters_check.http_client import as_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jwt import PyJWK

_ALGORITHMS = frozenset({
    "ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA",
})  # fmt: skip
"""Asymmetric algorithms; with symmetric ones every verifier could also sign."""

_MOST = 5


def signatures(
    card: Mapping[str, Any],
) -> Iterator[tuple[int, dict[str, Any], dict[str, Any] | None]]:
    """Yield index, JSON and protected header (None if invalid) of a card's first signatures."""
    listed = card.get("signatures")
    for index, each in enumerate(listed[:_MOST] if isinstance(listed, list) else []):
        if isinstance(each, dict):
            yield index, each, _protected(each.get("protected"))


def proves(header: Mapping[str, Any]) -> bool:
    """Return whether the signature's algorithm is asymmetric and known."""
    algorithm = header.get("alg")
    return isinstance(algorithm, str) and algorithm in _ALGORITHMS


def key_of(key_set: object, header: Mapping[str, Any]) -> PyJWK | None:
    """Return the key of a JSON Web Key Set selected by a header, None if missing.

    Raises:
        ImportError: The extra `signing` is not installed.
    """
    from jwt import PyJWK, PyJWTError  # noqa: PLC0415 - an extra

    keys = key_set.get("keys") if isinstance(key_set, dict) else None
    for each in keys if isinstance(keys, list) else []:
        if isinstance(each, dict) and each.get("kid") == header.get("kid"):
            try:
                return PyJWK.from_dict(each, algorithm=str(header.get("alg")))
            except (PyJWTError, ValueError, TypeError):
                return None
    return None


def is_signed(
    card: Mapping[str, Any], signature: dict[str, Any], header: Mapping[str, Any], key: PyJWK
) -> bool:
    """Return whether a signature of this card by this key is valid.

    Raises:
        ImportError: The extra `signing` is not installed.
    """
    from a2a.utils.signing import (  # noqa: PLC0415 - an extra
        SignatureVerificationError,
        create_signature_verifier,
    )

    if not proves(header):
        return False
    verify = create_signature_verifier(lambda _kid, _jku: key, [str(header["alg"])])
    try:
        verify(card_of({**card, "signatures": [signature]}))
    except (SignatureVerificationError, ParseError, ValueError, TypeError, AttributeError):
        return False
    return True


def _protected(value: object) -> dict[str, Any] | None:
    if not isinstance(value, str) or not value.isascii():
        return None
    try:
        header = as_json(binascii.a2b_base64(_padded(value)))
    except binascii.Error:
        return None
    return header if isinstance(header, dict) else None


def _padded(text: str) -> str:
    return text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4)
