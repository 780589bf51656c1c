"""A server with authentication and push notifications: `... JWKS_ADDRESS`."""

from __future__ import annotations

import sys

from a2a_adapters_jwt import JwtTokens

from a2a_adapters import AnyOf, BearerTokens, PushOptions, ServerOptions, serve
from tests.attack.forgery import AUDIENCE, ISSUER
from tests.attack.served import agent
from tests.attack.target import ANN, BOB

if __name__ == "__main__":
    tokens = JwtTokens(sys.argv[1], issuer=ISSUER, audience=AUDIENCE)
    users = BearerTokens({ANN: "ann", BOB: "bob"})
    options = ServerOptions(authentication=AnyOf(users, tokens), push=PushOptions())
    serve(agent, port=0, dialects=["openai", "ag-ui"], options=options)
