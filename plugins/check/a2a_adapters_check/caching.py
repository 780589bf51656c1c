"""Whether clients need not fetch the card again and again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.report import Severity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.http_client import Answer
    from a2a_adapters_check.subject import Subject

_MAX_AGE = re.compile(r"\b(s-)?max-?age\s*=\s*\d+|\bno-(store|cache)\b", re.IGNORECASE)


@check(
    "caching.max-age",
    Severity.NOTE,
    "The card says how long it may be kept",
    clause="A2A 1.0.1, 8.6.1",
    remedy="Send Cache-Control: public, max-age=... with the card.",
)
async def max_age(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of a card without Cache-Control."""
    value = subject.card_answer.headers.get("cache-control", "")
    if not _MAX_AGE.search(value):
        yield Fault("the card has no Cache-Control with max-age", subject.card_url)


@check(
    "caching.etag",
    Severity.NOTE,
    "The card has an ETag",
    clause="A2A 1.0.1, 8.6.1",
    remedy="Send an ETag: a hash of the card, or its version.",
)
async def etag(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of a card without an ETag."""
    if not subject.card_answer.headers.get("etag"):
        yield Fault("the card has no ETag", subject.card_url)


@check(
    "caching.stable",
    Severity.WARNING,
    "The card's ETag changes only with the card",
    clause="A2A 1.0.1, 8.6.1",
    remedy="Make the ETag from the card's content or version.",
)
async def stable(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of an ETag that is another one for the same card, or the same for another card."""
    first, again = subject.card_answer, await _again(subject, {})
    tags = first.headers.get("etag"), again.headers.get("etag")
    if not all(tags) or again.status != 200:
        return
    is_same_tag, is_same_card = tags[0] == tags[1], first.json == again.json
    if is_same_card and not is_same_tag:
        yield Fault("the same card has another ETag each time", subject.card_url)
    if is_same_tag and not is_same_card:
        yield Fault("another card has the same ETag", subject.card_url)


@check(
    "caching.conditional",
    Severity.WARNING,
    "Clients that have the card are told so",
    clause="A2A 1.0.1, 8.6.2, and RFC 9110, 13.1.2",
    remedy="Answer If-None-Match with the card's ETag by 304.",
)
async def conditional(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of an ETag that the server itself takes no notice of."""
    tag = subject.card_answer.headers.get("etag")
    if not tag:
        return
    again = await _again(subject, {"If-None-Match": tag})
    is_other = again.headers.get("etag", tag) != tag
    if again.status != 304 and not is_other:
        told = f"If-None-Match with the card's own ETag gets HTTP {again.status}"
        yield Fault(told, subject.card_url)


async def _again(subject: Subject, headers: dict[str, str]) -> Answer:
    return await subject.http.ask("GET", subject.card_url, headers=headers)
