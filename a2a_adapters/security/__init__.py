"""Who may use an agent: authentication, and what a web page may not make a browser send."""

from __future__ import annotations

from a2a_adapters.security.api_keys import ApiKeys, BearerTokens
from a2a_adapters.security.authenticator import AnyOf, Authenticator
from a2a_adapters.security.jwt import JwtTokens

__all__ = ["AnyOf", "ApiKeys", "Authenticator", "BearerTokens", "JwtTokens"]
