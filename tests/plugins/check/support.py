"""The sound servers of the tests."""

from __future__ import annotations

import asyncio

from a2a_adapters import (
    BearerTokens,
    Limits,
    OutboundPolicy,
    PushOptions,
    ServerOptions,
    build_app,
)

TOKEN = "token-of-the-caller"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


async def echo(text: str):
    """Say what was said, or count as long as nobody minds."""
    yield text
    if "count slowly" in text:
        await asyncio.Event().wait()


def sound(**options):
    """Return a server of ours that has nothing to wait for when it stops."""
    limits = Limits(shutdown_seconds=0.05)
    return build_app(echo, options=ServerOptions(limits=limits, **options))


def plain():
    return sound()


def guarded():
    return sound(authentication=BearerTokens({TOKEN: "caller"}))


def pushing():
    return sound(push=PushOptions())


def pushing_anywhere():
    return sound(push=PushOptions(outbound=OutboundPolicy(allow_private=True)))
