"""What is kept of spending: one page of JSON, read and written as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal, Self, TypeAlias

from pydantic import BaseModel

Per: TypeAlias = Literal["minute", "day", "month"]

_LONGEST: dict[str, float] = {"minute": 60, "day": 86_400, "month": 31 * 86_400}
"""How many seconds the time of a quota takes at most."""

_SKEW = 60.0
"""How many seconds the clocks of two machines may differ."""


class Amount(BaseModel):
    """Requests, tokens and USD."""

    requests: int = 0
    tokens: int = 0
    usd: float = 0.0

    def add(self, other: Amount) -> None:
        """Add another amount."""
        self.requests += other.requests
        self.tokens += other.tokens
        self.usd += other.usd


class Term(BaseModel):
    """Some time that ends by itself; also if a clock is set back meanwhile."""

    until: float
    """In seconds since 1970."""
    seconds: float
    """How long it was when it began."""

    def left(self, now: float) -> float:
        """Return for how many seconds it goes on; 0 if it is over."""
        rest = self.until - now
        return rest if 0 < rest <= self.seconds + _SKEW else 0.0


class Held(Term):
    """What the calls of one process that are under way may use at worst.

    A process that lives renews it; that of one that died ends.
    """

    amounts: dict[str, Amount] = {}


class Page(BaseModel):
    """All that is kept in one place."""

    version: str = ""
    """Another one for each write."""
    used: dict[str, Amount] = {}
    """By what a quota is about and the beginning of its time: `key_of`."""
    held: dict[str, Held] = {}
    """By process."""
    cooldowns: dict[str, Term] = {}
    """By deployment."""

    @classmethod
    def of(cls, body: bytes | None, now: float) -> Self:
        """Return a page as it was stored, without what is over at that time."""
        page = cls() if body is None else cls.model_validate_json(body)
        page.used = {key: used for key, used in page.used.items() if not _is_past(key, now)}
        page.held = {name: held for name, held in page.held.items() if held.left(now)}
        page.cooldowns = {name: term for name, term in page.cooldowns.items() if term.left(now)}
        return page

    def taken(self, key: str) -> Amount:
        """Return what was used and may be used by calls that are under way."""
        amount = Amount()
        for each in (self.used, *(held.amounts for held in self.held.values())):
            if key in each:
                amount.add(each[key])
        return amount

    def cool(self, deployment: str, term: Term) -> None:
        """Leave a deployment alone for so long, or longer if that was said before."""
        before = self.cooldowns.get(deployment, term)
        self.cooldowns[deployment] = max(before, term, key=lambda each: each.until)

    def use(self, keys: Iterable[str], amount: Amount) -> None:
        """Note what a call has used."""
        add(self.used, keys, amount)


def add(amounts: dict[str, Amount], keys: Iterable[str], amount: Amount) -> None:
    """Add something under each of some keys."""
    for key in keys:
        amounts.setdefault(key, Amount()).add(amount)


def key_of(scope: str, per: Per, about: str, now: float) -> str:
    """Return under what is kept what somebody, or something, uses at a time."""
    return f"{scope} {per} {int(times(per, now)[0].timestamp())} {about}"


def _is_past(key: str, now: float) -> bool:
    """Tell whether a time is over for so long that no clock is set back to it."""
    _, per, begun, _ = key.split(" ", 3)
    return now - int(begun) > 2 * _LONGEST[per]


def times(per: Per, now: float) -> tuple[datetime, datetime]:
    """Return when the minute, day or month of a time begins and ends, in UTC."""
    minute = datetime.fromtimestamp(now, UTC).replace(second=0, microsecond=0)
    if per == "minute":
        return minute, minute + timedelta(minutes=1)
    today = minute.replace(hour=0, minute=0)
    if per == "day":
        return today, today + timedelta(days=1)
    first = today.replace(day=1)
    return first, (first + timedelta(days=32)).replace(day=1)
