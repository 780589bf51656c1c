"""JSON Web Tokens of an identity provider, and JSON Web Signatures of cards."""

from __future__ import annotations

from a2a_adapters_jwt.alb import AlbTokens
from a2a_adapters_jwt.signing import card_signer
from a2a_adapters_jwt.tokens import JwtTokens

__all__ = ["AlbTokens", "JwtTokens", "card_signer"]
