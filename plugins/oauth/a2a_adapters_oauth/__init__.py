"""OAuth 2.0: credentials for `RemoteAgent`, logins of users, and opaque tokens of callers."""

from __future__ import annotations

from a2a_adapters_oauth.grants import ClientCredentials, JwtBearer, TokenExchange
from a2a_adapters_oauth.introspection import GoogleAccessTokens, TokenIntrospection
from a2a_adapters_oauth.keys import SignedAssertion, SigningKey
from a2a_adapters_oauth.login import LOGGED_IN, LoginRequest, login_noticed, login_request

__all__ = [
    "LOGGED_IN", "ClientCredentials", "GoogleAccessTokens", "JwtBearer", "LoginRequest",
    "SignedAssertion", "SigningKey", "TokenExchange", "TokenIntrospection", "login_noticed",
    "login_request",
]  # fmt: skip
