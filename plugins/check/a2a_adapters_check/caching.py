"""Checks of the card's HTTP caching."""

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
    clause="A2A 1.0.1, 8.6.1",
    remedy="Send Cache-Control: public, max-age=... with the card.",
)
async def max_age(subject: Subject) -> AsyncIterator[Fault]:
    """The card states how long it may be cached."""
    value = subject.card_answer.headers.get("cache-control", "")
    if not _MAX_AGE.search(value):
        yield Fault("the card has no Cache-Control with max-age", subject.card_url)


@check(
    "caching.etag",
    Severity.NOTE,
    clause="A2A 1.0.1, 8.6.1",
    remedy="Send an ETag, such as a hash or the version of the card.",
)
async def etag(subject: Subject) -> AsyncIterator[Fault]:
    """The card has an ETag."""
    if not subject.card_answer.headers.get("etag"):
        yield Fault("the card has no ETag", subject.card_url)


@check(
    "caching.stable",
    Severity.WARNING,
    clause="A2A 1.0.1, 8.6.1",
    remedy="Derive the ETag from the card's content or version.",
)
async def stable(subject: Subject) -> AsyncIterator[Fault]:
    """The ETag changes only when the card does."""
    first, again = subject.card_answer, await _again(subject, {})
    tags = first.headers.get("etag"), again.headers.get("etag")
    if not all(tags) or again.status != 200:
        return
    is_same_tag, is_same_card = tags[0] == tags[1], first.json == again.json
    if is_same_card and not is_same_tag:
        yield Fault("the ETag of the unchanged card differs between requests", subject.card_url)
    if is_same_tag and not is_same_card:
        yield Fault("a changed card has the same ETag", subject.card_url)


@check(
    "caching.conditional",
    Severity.WARNING,
    clause="A2A 1.0.1, 8.6.2, and RFC 9110, 13.1.2",
    remedy="Answer 304 if If-None-Match has the card's ETag.",
)
async def conditional(subject: Subject) -> AsyncIterator[Fault]:
    """Conditional requests for the card are supported."""
    tag = subject.card_answer.headers.get("etag")
    if not tag:
        return
    again = await _again(subject, {"If-None-Match": tag})
    is_other = again.headers.get("etag", tag) != tag
    if again.status != 304 and not is_other:
        message = f"If-None-Match with the current ETag is answered with HTTP {again.status}"
        yield Fault(message, subject.card_url)


async def _again(subject: Subject, headers: dict[str, str]) -> Answer:
    return await subject.http.ask("GET", subject.card_url, headers=headers)
