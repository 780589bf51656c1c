"""A page of accounts, stored as one JSON document."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Literal, Self, TypeAlias

from pydantic import BaseModel

Per: TypeAlias = Literal["minute", "day", "month"]

_LONGEST: dict[str, float] = {"minute": 60, "day": 86_400, "month": 31 * 86_400}
"""Maximum length of a quota period in seconds."""

_SKEW = 60.0
"""Tolerated clock difference between machines in seconds."""


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
    """A time span that expires even if a clock is set back."""

    until: float
    """End in seconds since 1970."""
    seconds: float
    """Initial length in seconds."""

    def left(self, now: float) -> float:
        """Return the remaining seconds; 0 if it has expired."""
        rest = self.until - now
        return rest if 0 < rest <= self.seconds + _SKEW else 0.0


class Held(Term):
    """Maximum usage of a process's running calls.

    Live processes renew it; otherwise it expires.
    """

    amounts: dict[str, Amount] = {}


class Page(BaseModel):
    """The content of a page."""

    version: str = ""
    """Changes with each write."""
    used: dict[str, Amount] = {}
    """By quota and start of its period; see `key_of`."""
    held: dict[str, Held] = {}
    """By process."""
    cooldowns: dict[str, Term] = {}
    """By deployment."""

    @classmethod
    def of(cls, body: bytes | None, now: float) -> Self:
        """Parse a stored page, dropping expired entries."""
        page = cls() if body is None else cls.model_validate_json(body)
        page.used = {key: used for key, used in page.used.items() if not _is_past(key, now)}
        page.held = {name: held for name, held in page.held.items() if held.left(now)}
        page.cooldowns = {name: term for name, term in page.cooldowns.items() if term.left(now)}
        return page

    def taken(self, key: str) -> Amount:
        """Return usage plus the maximum usage of running calls."""
        amount = Amount()
        for each in (self.used, *(held.amounts for held in self.held.values())):
            if key in each:
                amount.add(each[key])
        return amount

    def cool(self, deployment: str, term: Term) -> None:
        """Start or extend the cooldown of a deployment."""
        before = self.cooldowns.get(deployment, term)
        self.cooldowns[deployment] = max(before, term, key=lambda each: each.until)

    def use(self, keys: Iterable[str], amount: Amount) -> None:
        """Record the usage of a call."""
        add(self.used, keys, amount)


def add(amounts: dict[str, Amount], keys: Iterable[str], amount: Amount) -> None:
    """Add an amount to several keys."""
    for key in keys:
        amounts.setdefault(key, Amount()).add(amount)


def key_of(scope: str, per: Per, about: str, now: float) -> str:
    """Return the key of an entity's usage in the period that contains a time."""
    return f"{scope} {per} {int(times(per, now)[0].timestamp())} {about}"


def _is_past(key: str, now: float) -> bool:
    """Return whether a period ended long enough ago to survive clock differences."""
    _, per, begun, _ = key.split(" ", 3)
    return now - int(begun) > 2 * _LONGEST[per]


def times(per: Per, now: float) -> tuple[datetime, datetime]:
    """Return the start and end of the minute, day or month of a time, in UTC."""
    minute = datetime.fromtimestamp(now, UTC).replace(second=0, microsecond=0)
    if per == "minute":
        return minute, minute + timedelta(minutes=1)
    today = minute.replace(hour=0, minute=0)
    if per == "day":
        return today, today + timedelta(days=1)
    first = today.replace(day=1)
    return first, (first + timedelta(days=32)).replace(day=1)
