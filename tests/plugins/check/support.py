"""Sound servers, and the faults that are seeded in them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from a2a_adapters import BearerTokens, Limits, OutboundPolicy, PushOptions, ServerOptions, build_app
from a2a_adapters.plugin import Adapter, AgentDescription, AnswerText
from tests.plugins.check.broken import Edit, on_card

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


@dataclass(frozen=True)
class Seed:
    """A server with one fault.

    Attributes:
        name: Describes the fault.
        found_by: Id of the check that finds it.
        edit: Introduces it.
        sends: Whether finding it needs messages.
        app: Builds the sound server.
        edits_subscriptions: Whether subscriptions are edited as well.
    """

    name: str
    found_by: str
    edit: Edit
    sends: bool = False
    app: Callable[[], Any] = plain
    edits_subscriptions: bool = False


def put(path: str, value: Any) -> Edit:
    """Return an edit that sets a value in the card; None removes it."""

    def change(card: Any) -> None:
        *way, last = path.split("/")
        for key in way:
            card = card[int(key) if key.isdecimal() else key]
        if value is None:
            del card[last]
        else:
            card[int(last) if last.isdecimal() else last] = value

    return on_card(change)
