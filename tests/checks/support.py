"""The sound servers of the tests."""

from __future__ import annotations

from a2a_adapters import BearerTokens, ServerOptions, build_app

TOKEN = "token-of-the-caller"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


async def echo(text: str) -> str:
    """Say what was said."""
    return text


def plain():
    return build_app(echo)


def guarded():
    return build_app(echo, options=ServerOptions(authentication=BearerTokens({TOKEN: "caller"})))
