"""What is checked of incoming requests: the caller, rates, sizes and headers."""

from __future__ import annotations

from a2a_adapters.security.api_keys import (
    ApiKeys,
    BearerTokens,
    InvalidTokenError,
    bearer_token,
)
from a2a_adapters.security.authenticator import AnyOf, Authenticator
from a2a_adapters.security.claims import ClaimedTokens, Claims
from a2a_adapters.security.forwarded import ForwardedUser

__all__ = [
    "AnyOf", "ApiKeys", "Authenticator", "BearerTokens", "ClaimedTokens", "Claims", "ForwardedUser",
    "InvalidTokenError", "bearer_token",
]  # fmt: skip
