"""Checks of the agent's latency, without its model."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from a2a_adapters_check.interfaces import GET
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.operations import call
from a2a_adapters_check.report import Severity

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.subject import Subject

_SLOW = 1.0
_SLOW_CARD = 3.0
_TRIES = 5


async def measure(subject: Subject) -> None:
    """Measure a small request before other checks load the agent."""
    current = await subject.answering()
    if current:
        params = {"id": await subject.unknown_id()}
        answers = [(await call(subject.http, current[0], GET, params)).answer]
        while len(answers) < _TRIES and sum(each.seconds for each in answers) < _SLOW:
            answers.append((await call(subject.http, current[0], GET, params)).answer)
        subject.figures["latency"] = 1000 * median(each.seconds for each in answers)


@check(
    "speed.latency",
    Severity.WARNING,
    clause="A2A 1.0.1, 3.3.3",
    remedy="Look for synchronous calls in the event loop and for cold starts.",
)
async def latency(subject: Subject) -> AsyncIterator[Fault]:
    """A request that needs no model is answered within a second."""
    spent = subject.figures.get("latency", 0)
    if spent > 1000 * _SLOW:
        yield Fault(f"getting an unknown task took {spent:,.0f} ms")


@check(
    "speed.card",
    Severity.WARNING,
    clause="A2A 1.0.1, 8.6",
    remedy="Build the card once when the server starts.",
)
async def card(subject: Subject) -> AsyncIterator[Fault]:
    """The card arrives within three seconds."""
    spent = subject.card_answer.seconds
    if spent > _SLOW_CARD:
        yield Fault(f"the card took {1000 * spent:,.0f} ms", subject.card_url)
