"""Authentication, rate limits, body limits, and protection from web pages."""

from __future__ import annotations

from a2a_adapters.security.api_keys import ApiKeys, BearerTokens
from a2a_adapters.security.authenticator import AnyOf, Authenticator

__all__ = ["AnyOf", "ApiKeys", "Authenticator", "BearerTokens"]
