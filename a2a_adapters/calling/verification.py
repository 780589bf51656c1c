"""Verifies the signatures of agent cards (A2A 1.0, section 8.4.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a_adapters.calling.errors import CardSignatureError
from a2a_adapters.contract.errors import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    from a2a.types import AgentCard
    from jwt import PyJWK

TrustedKeys: TypeAlias = "Mapping[str, Any] | Sequence[str | Mapping[str, Any]]"
"""Public keys: a JSON Web Key Set, or a list of keys in PEM format and JSON Web Keys."""

_ALGORITHMS = [
    *("ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA")
]
"""Asymmetric algorithms; with symmetric ones every verifier could also sign."""


def verify_card(card: AgentCard, keys: TrustedKeys, source: str) -> None:
    """Check that a card is signed by one of the keys.

    Args:
        card: The card.
        keys: The keys.
        source: The place of the card, for the error.

    Raises:
        CardSignatureError: No signature of the card is one of these keys.
        ConfigurationError: A key is invalid.
        MissingExtraError: The extra `signing` is not installed.
    """
    try:
        from a2a.utils.signing import (  # noqa: PLC0415 - an extra
            SignatureVerificationError,
            create_signature_verifier,
        )
        from jwt import PyJWTError  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("verifying cards", "signing") from error
    if not card.signatures:
        raise CardSignatureError(f"the card at {source} is not signed")
    for key in _parsed(keys):
        try:
            create_signature_verifier(_provider(key), _ALGORITHMS)(card)
        except (SignatureVerificationError, PyJWTError, ValueError, TypeError):
            continue  # also raised for keys of another kind
        return
    raise CardSignatureError(f"no signature of the card at {source} is by a trusted key")


def _provider(key: PyJWK | str) -> Callable[[str | None, str | None], PyJWK | str]:
    return lambda _kid, _jku: key


def _parsed(keys: TrustedKeys) -> Iterator[PyJWK | str]:
    from jwt import PyJWK, PyJWTError  # noqa: PLC0415 - an extra

    listed = keys.get("keys", [keys]) if isinstance(keys, Mapping) else keys
    for each in listed:
        if isinstance(each, str):
            yield each
            continue
        try:
            yield PyJWK.from_dict(dict(each))
        except (PyJWTError, ValueError, TypeError) as error:
            raise ConfigurationError(f"a trusted key is not a JSON Web Key: {error}") from error
