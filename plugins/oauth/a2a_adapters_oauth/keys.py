"""Assertions signed with a private key (RFC 7523)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_adapters import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    from a2a_adapters.calling.auth import Secret

_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
_SECONDS = 60
"""Lifetime of an assertion, which is used at once."""


class SigningKey:
    """A private key that signs assertions, as `private_key_jwt` of a client or for `JwtBearer`.

    Args:
        private_key: An unencrypted RSA or elliptic curve key in PEM format.
        key_id: The id under which the authorization server knows the public key (`kid`), if any.
        algorithm: The signature algorithm, by default RS256 or that of the key's curve.

    Raises:
        MissingExtraError: The extra `oauth` is not installed.
        ConfigurationError: The key is not a private key of these kinds.
    """

    def __init__(self, private_key: bytes | str, *, key_id: str = "", algorithm: str = "") -> None:
        try:
            from authlib.oauth2.rfc7523 import JWTBearerGrant  # noqa: PLC0415
            from joserfc.jwk import ECKey, RSAKey  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("signing assertions", "oauth") from error
        for kind in (RSAKey, ECKey):
            try:
                key = kind.import_key(private_key)
            except Exception:  # noqa: S112 - its text may contain the key
                continue
            if key.is_private:
                break
        else:
            raise ConfigurationError("the key is not an RSA or EC private key in PEM format")
        algorithm = algorithm or _CURVES.get(str(key.as_dict(private=False).get("crv")), "RS256")
        self._header = {"alg": algorithm, **({"kid": key_id} if key_id else {})}
        self._key = key
        self._sign = JWTBearerGrant.sign

    def assertion(self, issuer: str, audience: str, subject: str) -> str:
        """Return a new assertion, valid for a minute."""
        signed: str = self._sign(
            self._key, issuer, audience, subject, header=dict(self._header), expires_in=_SECONDS
        )
        return signed


@dataclass(frozen=True, slots=True)
class SignedAssertion:
    """An assertion for `JwtBearer`, signed anew for each token.

    Attributes:
        key: The key.
        issuer: The `iss` of the assertion, usually the client's id.
        subject: The `sub`, such as the user for whom the token is requested; by default the issuer.
            A callable is called for each request, in the caller's context.
    """

    key: SigningKey
    issuer: str
    subject: Secret = ""
