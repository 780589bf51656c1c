"""Accounts of spending and quotas.

Before a call, its maximum cost is reserved; afterwards, the actual cost is settled. Concurrent
calls of any number of processes can therefore never exceed a quota.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters_router.book import Book, Hold, InMemory, InStorage, Refusal
from a2a_adapters_router.page import Amount, Term, key_of, times

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from a2a_adapters.plugin import StateStorage
    from a2a_adapters_router.book import Answer, PageStore
    from a2a_adapters_router.config import Quota
    from a2a_adapters_router.deployment import Deployment
    from a2a_adapters_router.page import Page

_KIND = "router"
_EVERY = "*"
_UNITS = {"requests": "{:,} requests", "tokens": "{:,} tokens", "usd": "${:.4g}"}
_CLOSE = 1e-9
"""Relative tolerance of sums of money, which are floating point numbers."""


@dataclass(frozen=True, slots=True)
class Remainder:
    """The remainder of a quota.

    Attributes:
        quota: The quota.
        about: The provider, deployment, owner or team; "*" for the total.
        used: Usage, including reservations.
        resets_at: Start of the next period.
        key: Its key in the book.
    """

    quota: Quota
    about: str
    used: Amount
    resets_at: datetime
    key: str

    @property
    def requests(self) -> int | None:
        """Remaining requests; None if unlimited."""
        return _rest(self.quota.requests, self.used.requests)

    @property
    def tokens(self) -> int | None:
        """Remaining tokens; None if unlimited."""
        return _rest(self.quota.tokens, self.used.tokens)

    @property
    def usd(self) -> float | None:
        """Remaining USD; None if unlimited."""
        limit = self.quota.usd
        return None if limit is None else max(0.0, limit - self.used.usd)

    @property
    def payable(self) -> float | None:
        """Maximum USD for a call: the remainder plus the rounding tolerance."""
        limit = self.quota.usd
        return None if limit is None else limit * (1 + _CLOSE) - self.used.usd

    def __str__(self) -> str:
        quota = self.quota
        limits = {"requests": quota.requests, "tokens": quota.tokens, "usd": quota.usd}
        rests = {"requests": self.requests, "tokens": self.tokens, "usd": self.usd}
        remainders = [
            f"{_UNITS[name].format(rests[name])} of {_UNITS[name].format(limit)} left"
            for name, limit in limits.items()
            if limit is not None
        ]
        names = {"owner": "the caller", "total": "all callers together"}
        who = names.get(quota.scope, f"{quota.scope} {self.about}")
        resets = f"resets {self.resets_at:%Y-%m-%d %H:%M} UTC"
        return f"quota per {quota.per} of {who}: {', '.join(remainders)}, {resets}"

    @property
    def share(self) -> float:
        """Remaining share of the scarcest unit, from 0 to 1."""
        quota = self.quota
        limits = (quota.requests, quota.tokens, quota.usd)
        rests = (self.requests, self.tokens, self.usd)
        pairs = zip(rests, limits, strict=True)
        return min(rest / limit for rest, limit in pairs if limit and rest is not None)

    def has(self, worst: Amount) -> bool:
        """Return whether it covers the maximum usage of a call."""
        usd = self.payable
        pairs = ((self.requests, worst.requests), (self.tokens, worst.tokens), (usd, worst.usd))
        return all(rest is None or rest >= needed for rest, needed in pairs)


def _rest(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(0, limit - used)


@dataclass(frozen=True, slots=True)
class Available:
    """Tokens and USD available for a call; None means unlimited."""

    tokens: int | None = None
    usd: float | None = None


Fit: TypeAlias = "Callable[[Available], Amount | None]"
"""Returns the maximum usage of a call within a remainder; None if that is not enough."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """The holds for a call and their books."""

    amount: Amount
    holds: Sequence[tuple[Book, Hold]]


class Ledger:
    """Accounts of one router, kept in the server's storage once it is open.

    Args:
        quotas: Limits of usage.
        lease_seconds: Time in seconds until the holds of a dead process expire.
        teams: Owners by team.
    """

    def __init__(
        self,
        quotas: Sequence[Quota],
        lease_seconds: float,
        teams: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._teams = teams or {}
        self._of_owners = [quota for quota in quotas if quota.scope == "owner"]
        self._of_others = [quota for quota in quotas if quota.scope != "owner"]
        self._lease = lease_seconds
        self._storage: StateStorage | None = None
        self._books: dict[str, Book] = {}

    async def open(self, storage: StateStorage) -> None:
        """Switch to a storage and its data; an in-memory storage has none."""
        if storage.is_durable:
            self._storage, self._books = storage, {}
        await self._shared.written()

    @property
    def _shared(self) -> Book:
        return self._book(_KIND)

    def _of(self, owner: str) -> Book:
        """Return the book of an owner; owners are spread over many, which limits their size."""
        return self._book(f"{_KIND}-{hashlib.sha256(owner.encode()).hexdigest()[:2]}")

    def _book(self, kind: str) -> Book:
        if kind not in self._books:
            store: PageStore = InStorage(self._storage, kind) if self._storage else InMemory()
            self._books[kind] = Book(store, self._lease)
        return self._books[kind]

    async def refresh(self, owner: str) -> None:
        """Read the spending of other processes."""
        books = [self._shared, *([self._of(owner)] if self._of_owners else [])]
        await asyncio.gather(*(book.written() for book in books))

    def left(self, deployment: Deployment, owner: str) -> list[Remainder]:
        """Return the remainders of all quotas that apply to a call."""
        return [
            *self._left_for(deployment, owner, self._shared.page),
            *(self._left_of(owner, self._of(owner).page) if self._of_owners else ()),
        ]

    def _left_for(self, deployment: Deployment, owner: str, page: Page) -> list[Remainder]:
        teams = [name for name, members in self._teams.items() if owner in members]
        scopes = {"provider": [deployment.paid_to], "deployment": [deployment.id], "team": teams}
        found = []
        for quota in self._of_others:
            named = getattr(quota, quota.scope)
            abouts = scopes.get(quota.scope, [_EVERY])
            found += [_left(quota, each, page) for each in abouts if named in (_EVERY, each, True)]
        return found

    def _left_of(self, owner: str, page: Page) -> list[Remainder]:
        found = [quota for quota in self._of_owners if quota.owner in (_EVERY, owner)]
        return [_left(quota, owner, page) for quota in found]

    async def reserve(self, deployment: Deployment, owner: str, fit: Fit) -> Reservation | Refusal:
        """Reserve the maximum usage of a call in all its quotas.

        `fit` determines it from the smallest remainder.
        """

        def by_owner(page: Page) -> Answer:
            return _held(self._left_of(owner, page), fit)

        def by_others(page: Page) -> Answer:
            cooling = page.cooldowns.get(deployment.id)
            if cooling and (wait := cooling.left(time.time())):
                return Refusal(wait=wait)
            return _held(
                self._left_for(deployment, owner, page), fit, first.amount if first else None
            )

        first: Hold | None = None
        if not self._of_owners:
            return _reserved((self._shared, await self._shared.hold(by_others)))
        book = self._of(owner)
        answer = await book.hold(by_owner)
        if not isinstance(answer, Hold):
            return _reserved((book, answer))
        first, second = answer, None
        try:
            second = await self._shared.hold(by_others)
        finally:
            if not isinstance(second, Hold):
                book.release(first)
        return _reserved((book, first), (self._shared, second))

    async def settle(self, reservation: Reservation, actual: Amount) -> None:
        """Replace a reservation with the actual usage.

        This completes even if the caller has left, and is retried during outages.
        """
        for book, hold in reservation.holds:
            book.release(hold, actual)
        await _stored([book for book, hold in reservation.holds if hold.keys])

    def cooldown(self, deployment: Deployment) -> float:
        """Return the remaining cooldown of a deployment in seconds."""
        term = self._shared.page.cooldowns.get(deployment.id)
        return term.left(time.time()) if term else 0.0

    async def cool(self, deployment: Deployment, seconds: float, allowed_fails: int = 0) -> None:
        """Start or extend the cooldown of a deployment.

        The first `allowed_fails` failures per minute, over all processes, are tolerated.
        """
        now = time.time()
        term = Term(until=now + seconds, seconds=seconds)
        key = key_of("failure", "minute", deployment.id, now)

        def change(page: Page) -> None:
            if allowed_fails:
                page.use([key], Amount(requests=1))
            if page.taken(key).requests > allowed_fails or not allowed_fails:
                page.cool(deployment.id, term)

        self._shared.change(change)
        await _stored([self._shared])

    async def aclose(self) -> None:
        """Wait until everything is stored."""
        await asyncio.gather(*(book.aclose() for book in self._books.values()))


async def _stored(books: Sequence[Book]) -> None:
    """Wait until books are written; failures are logged and retried."""
    await asyncio.gather(*(book.written() for book in books), return_exceptions=True)


def _left(quota: Quota, about: str, page: Page) -> Remainder:
    now = time.time()
    key = key_of(quota.scope, quota.per, about, now)
    return Remainder(quota, about, page.taken(key), times(quota.per, now)[1], key)


def _held(remainders: Sequence[Remainder], fit: Fit, most: Amount | None = None) -> Answer:
    """Return the hold on quotas for a call."""
    tokens = [left.tokens for left in remainders if left.tokens is not None]
    usd = [left.payable for left in remainders if left.payable is not None]
    if most is not None:
        tokens, usd = [*tokens, most.tokens], [*usd, most.usd]
    worst = fit(Available(min(tokens, default=None), min(usd, default=None)))
    if worst is None or not all(left.has(worst) for left in remainders):
        return Refusal(short=[(str(each), each.resets_at) for each in _short(remainders, fit)])
    return Hold(list(dict.fromkeys(left.key for left in remainders)), worst)


def _short(remainders: Sequence[Remainder], fit: Fit) -> Sequence[Remainder]:
    """Return the exhausted quotas; empty if the cause is another limit."""
    if fit(Available()) is None:
        return ()
    found = []
    for left in remainders:
        worst = fit(Available(left.tokens, left.payable))
        if worst is None or not left.has(worst):
            found.append(left)
    return found or remainders


def _reserved(*held: tuple[Book, Answer]) -> Reservation | Refusal:
    last = held[-1][1]
    if not isinstance(last, Hold):
        return last or Refusal()
    return Reservation(last.amount, [(each, hold) for each, hold in held if isinstance(hold, Hold)])
