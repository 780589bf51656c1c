"""Authentication by JSON Web Tokens of an identity provider."""

from __future__ import annotations

from a2a_adapters_jwt.tokens import JwtTokens

__all__ = ["JwtTokens"]
