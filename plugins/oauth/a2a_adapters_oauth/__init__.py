"""OAuth 2.0 for programs that call agents: credentials for `RemoteAgent`, and logins of users."""

from __future__ import annotations

from a2a_adapters_oauth.grants import ClientCredentials, JwtBearer, TokenExchange
from a2a_adapters_oauth.keys import SignedAssertion, SigningKey

__all__ = ["ClientCredentials", "JwtBearer", "SignedAssertion", "SigningKey", "TokenExchange"]
