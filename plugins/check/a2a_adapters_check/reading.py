"""Whether there is a card, and one that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.protocol.card import WELL_KNOWN_PATHS
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.report import Severity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.subject import Subject

_LARGE = 128 * 1024


@check(
    "card.found",
    Severity.ERROR,
    "The card is where clients look for it",
    clause="A2A 1.0.1, 8.2",
    remedy="Answer GET /.well-known/agent-card.json by HTTP 200 with the card, without redirects.",
    needs_card=False,
)
async def found(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of an answer that is no card at all."""
    answer = subject.card_answer
    if answer.failure:
        yield Fault(f"the card cannot be read: {answer.failure}", subject.card_url)
    elif 300 <= answer.status < 400:
        target = answer.headers.get("location", "elsewhere")
        yield Fault(f"the card's address redirects to {target}", subject.card_url)
    elif answer.status != 200:
        yield Fault(f"HTTP {answer.status} in place of the card", subject.card_url)
    elif subject.card_url.endswith(WELL_KNOWN_PATHS[1]):
        told = f"the card is only where clients before A2A 0.3 looked, {WELL_KNOWN_PATHS[1]}"
        yield Fault(told, subject.card_url, Severity.WARNING)


@check(
    "card.json",
    Severity.ERROR,
    "The card is a JSON object",
    clause="A2A 1.0.1, 4.4.1",
    remedy="Serve the card as one JSON object in UTF-8.",
    needs_card=False,
)
async def is_json(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of a card that is no JSON object."""
    answer = subject.card_answer
    if answer.status == 200 and not isinstance(answer.json, dict):
        yield Fault("what stands in place of the card is no JSON object", subject.card_url)


@check(
    "card.media-type",
    Severity.WARNING,
    "The card comes as JSON",
    clause="A2A 1.0.1, 8.2",
    remedy="Send the card with Content-Type: application/json.",
)
async def comes_as_json(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of another media type."""
    kind = subject.card_answer.media_type
    if kind != "application/json" and not (
        kind.startswith("application/") and kind.endswith("+json")
    ):
        yield Fault(f"the card comes as {kind or 'nothing in particular'}", subject.card_url)


@check(
    "card.size",
    Severity.WARNING,
    "The card is small enough for every client",
    clause="A2A 1.0.1, 13.4",
    remedy="Keep the card below 128 KiB: put what is long behind documentationUrl.",
)
async def is_small(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of a card that costs its readers too much."""
    size = len(subject.card_answer.content)
    if size > _LARGE:
        yield Fault(f"the card has {size:,} bytes", subject.card_url)
