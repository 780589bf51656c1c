"""Verifies the signatures of agent cards (A2A 1.0, section 8.4.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from pydantic_core import from_json

from a2a_adapters.calling.errors import CardSignatureError
from a2a_adapters.contract.errors import A2AAdaptersError, ConfigurationError, MissingExtraError
from a2a_adapters.net.addresses import is_loopback

if TYPE_CHECKING:
    from a2a.types import AgentCard
    from jwt import PyJWK

TrustedKeys: TypeAlias = "str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]"
"""Public keys: keys in PEM format, JSON Web Keys (Sets), URLs of such sets, or a list of these."""

_ALGORITHMS = [
    *("ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA")
]
"""Asymmetric algorithms; with symmetric ones every verifier could also sign."""


def check_keys(keys: object) -> None:
    """Check the form of trusted keys without loading the libraries that read them.

    Raises:
        ConfigurationError: There is no key, or one has another form or an unsafe URL.
    """
    listed = keys if isinstance(keys, Sequence) and not isinstance(keys, str) else [keys]
    if not listed:
        raise ConfigurationError("trusted_keys has no key; use None not to verify cards")
    for each in listed:
        if isinstance(each, str):
            if not _is_pem(each):
                _check_url(each)
        elif not isinstance(each, Mapping) or not {"keys", "kty"} & each.keys():
            raise ConfigurationError(
                "trusted_keys must be keys in PEM format, JSON Web Keys or URLs of key sets, "
                f"not {type(each).__name__}"
            )


def _is_pem(text: str) -> bool:
    return text.lstrip().startswith("-----BEGIN ")


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_safe = parts.scheme == "https" or (
            parts.scheme == "http" and is_loopback(parts.hostname or "")
        )
    except ValueError:
        is_safe = False
    if not is_safe or not parts.hostname:
        raise ConfigurationError(
            f"{url!r} in trusted_keys is neither a key in PEM format nor an https URL; anyone who "
            "could change keys on the way could sign cards"
        )


async def verify_card(
    card: AgentCard, keys: TrustedKeys, source: str, fetch: Callable[[str], Awaitable[bytes]]
) -> None:
    """Check that a card is signed by one of the keys.

    Args:
        card: The card.
        keys: The keys.
        source: The place of the card, for the error.
        fetch: Fetches the key set at a URL.

    Raises:
        CardSignatureError: No signature of the card is by one of these keys, or the keys cannot be
            fetched.
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
    for key in [key for each in _listed(keys) for key in await _parsed(each, fetch)]:
        try:
            create_signature_verifier(_provider(key), _ALGORITHMS)(card)
        except (SignatureVerificationError, PyJWTError, ValueError, TypeError):
            continue  # also raised for keys of another kind
        return
    raise CardSignatureError(f"no signature of the card at {source} is by a trusted key")


def _provider(key: PyJWK | str) -> Callable[[str | None, str | None], PyJWK | str]:
    return lambda _kid, _jku: key


def _listed(keys: TrustedKeys) -> Iterator[str | Mapping[str, Any]]:
    for each in [keys] if isinstance(keys, str | Mapping) else keys:
        if isinstance(each, str):
            yield each
        else:
            yield from each.get("keys", [each])


async def _parsed(
    key: str | Mapping[str, Any], fetch: Callable[[str], Awaitable[bytes]]
) -> Sequence[PyJWK | str]:
    from jwt import PyJWK, PyJWKSet, PyJWTError  # noqa: PLC0415 - an extra

    if isinstance(key, str) and _is_pem(key):
        return [key]
    if isinstance(key, str):
        try:
            return PyJWKSet.from_dict(from_json(await fetch(key))).keys
        except (A2AAdaptersError, PyJWTError, ValueError, TypeError, AttributeError) as error:
            raise CardSignatureError(
                f"there are no trusted keys at {key}, so that the card is not verified: {error}"
            ) from error
    try:
        return [PyJWK.from_dict(dict(key))]
    except (PyJWTError, ValueError, TypeError) as error:
        raise ConfigurationError(f"a trusted key is not a JSON Web Key: {error}") from error
