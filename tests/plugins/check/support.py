"""Sound servers."""

from __future__ import annotations

import asyncio

from a2a_adapters import BearerTokens, Limits, OutboundPolicy, PushOptions, ServerOptions, build_app
from a2a_adapters.plugin import Adapter, AgentDescription, AnswerText

TOKEN = "token-of-the-caller"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


async def echo(text: str):
    """Echo the text, or count until cancelled."""
    yield text
    if "count slowly" in text:
        await asyncio.Event().wait()


class Guardrails(Adapter):
    """Says what its guardrails have accepted."""

    holds_text = True

    def describe(self):
        return AgentDescription(name="guarded", description="Has guardrails.")

    async def stream(self, request):
        yield AnswerText(request.text)


def sound(**options):
    """Return a server that stops without delay."""
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
