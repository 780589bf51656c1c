"""Signatures of agent cards (A2A 1.0, section 8.4)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, cast

from pydantic_core import to_json

from a2a_adapters import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a.types import AgentCard
    from a2a.utils.signing import ProtectedHeader

_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_MEMBERS = {"EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n"), "OKP": ("crv", "kty", "x")}
"""The JWK members that form a key's thumbprint (RFC 7638, section 3.2; RFC 8037)."""


def card_signer(
    private_key: bytes, *, key_id: str = "", jwks_url: str = ""
) -> Callable[[AgentCard], AgentCard]:
    """Return a signer of cards for `ServerOptions(card_signer=...)`.

    Args:
        private_key: An unencrypted elliptic curve, Ed25519 or RSA key in PEM format.
        key_id: The key's id for clients (`kid`); by default its thumbprint (RFC 7638).
        jwks_url: The URL at which clients find the public key (`jku`), if any.

    Raises:
        MissingExtraError: The extra `signing` is not installed.
        ConfigurationError: The key is invalid or not supported.
    """
    try:
        from a2a.utils.signing import create_agent_card_signer  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("signing cards", "signing") from error
    algorithm, thumbprint = _identify(private_key)
    header = {"alg": algorithm, "typ": "JOSE", "kid": key_id or thumbprint}
    if jwks_url:
        header["jku"] = jwks_url
    return create_agent_card_signer(private_key, cast("ProtectedHeader", header))


def _identify(private_key: bytes) -> tuple[str, str]:
    """Return a key's algorithm and thumbprint."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
            load_pem_private_key,
        )
        from jwt.algorithms import get_default_algorithms  # noqa: PLC0415
        from jwt.utils import base64url_encode  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("signing cards", "signing") from error
    try:
        key = load_pem_private_key(private_key, password=None)
    except (ValueError, TypeError) as error:
        raise ConfigurationError("the card's key is not a private key in PEM format") from error
    match key:
        case ec.EllipticCurvePrivateKey() if key.curve.name in _CURVES:
            algorithm = _CURVES[key.curve.name]
        case ed25519.Ed25519PrivateKey():
            algorithm = "EdDSA"
        case rsa.RSAPrivateKey():
            algorithm = "RS256"
        case _:
            raise ConfigurationError("the card's key is not EC (P-256/384/521), Ed25519 or RSA")
    jwk = get_default_algorithms()[algorithm].to_jwk(key.public_key(), as_dict=True)
    members = {name: jwk[name] for name in _MEMBERS[jwk["kty"]]}
    return algorithm, base64url_encode(hashlib.sha256(to_json(members)).digest()).decode()
