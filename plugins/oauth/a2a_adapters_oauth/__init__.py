"""OAuth 2.0 for programs that call agents: credentials for `RemoteAgent`, and logins of users."""

from __future__ import annotations

from a2a_adapters_oauth.grants import ClientCredentials, JwtBearer, TokenExchange
from a2a_adapters_oauth.keys import SignedAssertion, SigningKey
from a2a_adapters_oauth.login import LOGGED_IN, LoginRequest, login_noticed, login_request

__all__ = [
    "LOGGED_IN", "ClientCredentials", "JwtBearer", "LoginRequest", "SignedAssertion", "SigningKey",
    "TokenExchange", "login_noticed", "login_request",
]  # fmt: skip
