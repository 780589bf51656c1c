"""What was spent, by whom and on what; and what may still be.

Money and tokens are held before a call at their worst, and settled after it: however many calls
there are at once, in however many processes, they never spend more together than a quota allows.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters_router.book import Book, Here, Hold, Refusal, Stored
from a2a_adapters_router.page import Amount, Term, key_of, times

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from a2a_adapters import StateStorage
    from a2a_adapters_router.book import Answer, Place
    from a2a_adapters_router.config import Quota
    from a2a_adapters_router.deployment import Deployment
    from a2a_adapters_router.page import Page

_KIND = "router"
_EVERY = "*"
_UNITS = {"requests": "{:,} requests", "tokens": "{:,} tokens", "usd": "${:.4g}"}
_CLOSE = 1e-9
"""By what share of a limit sums of money may be wrong: they are floating point numbers."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a quota for somebody.

    Attributes:
        quota: The quota.
        about: The provider, deployment, owner or team; "*" for the total.
        used: What is held for calls included.
        resets_at: When its time begins anew.
        key: Under which it is kept.
    """

    quota: Quota
    about: str
    used: Amount
    resets_at: datetime
    key: str

    @property
    def requests(self) -> int | None:
        """The requests that are left; None for any number."""
        return _rest(self.quota.requests, self.used.requests)

    @property
    def tokens(self) -> int | None:
        """The tokens that are left; None for any number."""
        return _rest(self.quota.tokens, self.used.tokens)

    @property
    def usd(self) -> float | None:
        """The USD that are left; None for any sum."""
        limit = self.quota.usd
        return None if limit is None else max(0.0, limit - self.used.usd)

    @property
    def payable(self) -> float | None:
        """The USD that a call may cost: what is left, as wrong as such sums may be."""
        limit = self.quota.usd
        return None if limit is None else limit * (1 + _CLOSE) - self.used.usd

    def __str__(self) -> str:
        quota = self.quota
        limits = {"requests": quota.requests, "tokens": quota.tokens, "usd": quota.usd}
        rests = {"requests": self.requests, "tokens": self.tokens, "usd": self.usd}
        said = [
            f"{_UNITS[name].format(rests[name])} of {_UNITS[name].format(limit)} left"
            for name, limit in limits.items()
            if limit is not None
        ]
        names = {"owner": "the caller", "total": "all callers together"}
        who = names.get(quota.scope, f"{quota.scope} {self.about}")
        resets = f"resets {self.resets_at:%Y-%m-%d %H:%M} UTC"
        return f"quota per {quota.per} of {who}: {', '.join(said)}, {resets}"

    @property
    def share(self) -> float:
        """How much is left of what is scarcest, from 0 to 1."""
        quota = self.quota
        limits = (quota.requests, quota.tokens, quota.usd)
        rests = (self.requests, self.tokens, self.usd)
        pairs = zip(rests, limits, strict=True)
        return min(rest / limit for rest, limit in pairs if limit and rest is not None)

    def has(self, worst: Amount) -> bool:
        """Tell whether a call may use so much of it."""
        usd = self.payable
        pairs = ((self.requests, worst.requests), (self.tokens, worst.tokens), (usd, worst.usd))
        return all(rest is None or rest >= needed for rest, needed in pairs)


def _rest(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(0, limit - used)


@dataclass(frozen=True, slots=True)
class Rest:
    """What is left for one call: tokens and USD, each None for any number."""

    tokens: int | None = None
    usd: float | None = None


Fit: TypeAlias = "Callable[[Rest], Amount | None]"
"""Returns what a call may use at worst if so much is left; None if it cannot be made for that."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """What is held for a call, and in which books."""

    amount: Amount
    holds: Sequence[tuple[Book, Hold]]


class Ledger:
    """Keeps accounts for one router, in the server's storage once that is there.

    Args:
        quotas: What may be used.
        lease_seconds: How long what a process holds is held after it has died.
        teams: The owners of each team.
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
        """Go on with what the storage has; one in memory has nothing that is not known here."""
        if storage.is_durable:
            self._storage, self._books = storage, {}
        await self._shared.written()

    @property
    def _shared(self) -> Book:
        return self._book(_KIND)

    def _of(self, owner: str) -> Book:
        """Return the book of an owner: one of many, so that none grows with all the owners."""
        return self._book(f"{_KIND}-{hashlib.sha256(owner.encode()).hexdigest()[:2]}")

    def _book(self, kind: str) -> Book:
        if kind not in self._books:
            place: Place = Stored(self._storage, kind) if self._storage else Here()
            self._books[kind] = Book(place, self._lease)
        return self._books[kind]

    async def refresh(self, owner: str) -> None:
        """Learn what other processes have spent."""
        books = [self._shared, *([self._of(owner)] if self._of_owners else [])]
        await asyncio.gather(*(book.written() for book in books))

    def left(self, deployment: Deployment, owner: str) -> list[Left]:
        """Return what is left of each quota that a call by `owner` to a deployment uses."""
        return [
            *self._left_for(deployment, owner, self._shared.page),
            *(self._left_of(owner, self._of(owner).page) if self._of_owners else ()),
        ]

    def _left_for(self, deployment: Deployment, owner: str, page: Page) -> list[Left]:
        teams = [name for name, members in self._teams.items() if owner in members]
        scopes = {"provider": [deployment.paid_to], "deployment": [deployment.id], "team": teams}
        found = []
        for quota in self._of_others:
            named = getattr(quota, quota.scope)
            abouts = scopes.get(quota.scope, [_EVERY])
            found += [_left(quota, each, page) for each in abouts if named in (_EVERY, each, True)]
        return found

    def _left_of(self, owner: str, page: Page) -> list[Left]:
        found = [quota for quota in self._of_owners if quota.owner in (_EVERY, owner)]
        return [_left(quota, owner, page) for quota in found]

    async def reserve(self, deployment: Deployment, owner: str, fit: Fit) -> Reservation | Refusal:
        """Take what a call may use at worst out of every quota.

        What `fit` says is the least that all of them have left decides how much that is.
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
                book.let_go(first)
        return _reserved((book, first), (self._shared, second))

    async def settle(self, reservation: Reservation, actual: Amount) -> None:
        """Put what a call did use in the place of what was held for it.

        It is done also if nobody waits for it any more, and later if it cannot be stored now.
        """
        for book, hold in reservation.holds:
            book.let_go(hold, actual)
        await _stored([book for book, hold in reservation.holds if hold.keys])

    def cooldown(self, deployment: Deployment) -> float:
        """Return for how many seconds a deployment is known to be left alone."""
        term = self._shared.page.cooldowns.get(deployment.id)
        return term.left(time.time()) if term else 0.0

    async def cool(self, deployment: Deployment, seconds: float, allowed_fails: int = 0) -> None:
        """Leave a deployment alone for so long, or longer if that was said before.

        Not for its first `allowed_fails` failures of a minute, of all processes together.
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
    """Wait until books are written, or cannot be: that is logged, and tried again."""
    await asyncio.gather(*(book.written() for book in books), return_exceptions=True)


def _left(quota: Quota, about: str, page: Page) -> Left:
    now = time.time()
    key = key_of(quota.scope, quota.per, about, now)
    return Left(quota, about, page.taken(key), times(quota.per, now)[1], key)


def _held(lefts: Sequence[Left], fit: Fit, most: Amount | None = None) -> Answer:
    """Return what is to be held of quotas for a call that may use so much at most."""
    tokens = [left.tokens for left in lefts if left.tokens is not None]
    usd = [left.payable for left in lefts if left.payable is not None]
    if most is not None:
        tokens, usd = [*tokens, most.tokens], [*usd, most.usd]
    worst = fit(Rest(min(tokens, default=None), min(usd, default=None)))
    if worst is None or not all(left.has(worst) for left in lefts):
        return Refusal(short=[(str(each), each.resets_at) for each in _short(lefts, fit)])
    return Hold(list(dict.fromkeys(left.key for left in lefts)), worst)


def _short(lefts: Sequence[Left], fit: Fit) -> Sequence[Left]:
    """Return the quotas that have too little left; none if it is not for any of them."""
    if fit(Rest()) is None:
        return ()
    found = []
    for left in lefts:
        worst = fit(Rest(left.tokens, left.payable))
        if worst is None or not left.has(worst):
            found.append(left)
    return found or lefts


def _reserved(*held: tuple[Book, Answer]) -> Reservation | Refusal:
    last = held[-1][1]
    if not isinstance(last, Hold):
        return last or Refusal()
    return Reservation(last.amount, [(each, hold) for each, hold in held if isinstance(hold, Hold)])
