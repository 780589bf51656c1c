"""The attacked agent: echoes, or asks a question.

`python -m tests.attack.served JWKS_ADDRESS` serves it with authentication and push notifications.
"""

from __future__ import annotations

import sys

from a2a_adapters_jwt import JwtTokens

from a2a_adapters import AnyOf, BearerTokens, InputRequired, PushOptions, ServerOptions, serve
from tests.attack.forgery import AUDIENCE, ISSUER
from tests.attack.target import ANN, BOB


async def agent(text: str):
    """Echo the text; ask if it starts with a question mark."""
    if text.startswith("?"):
        yield InputRequired("what?", durable=True)
    else:
        yield text


if __name__ == "__main__":
    tokens = JwtTokens(sys.argv[1], issuer=ISSUER, audience=AUDIENCE)
    users = BearerTokens({ANN: "ann", BOB: "bob"})
    options = ServerOptions(authentication=AnyOf(users, tokens), push=PushOptions())
    serve(agent, port=0, dialects=["openai", "ag-ui"], options=options)
