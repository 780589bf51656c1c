"""What was spent, by whom and on what; and what may still be.

Money and tokens are reserved before a call at their worst, and settled after it: however many calls
there are at once, they never spend more together than a quota allows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

if TYPE_CHECKING:
    from a2a_adapters import StateStorage
    from a2a_adapters_router.config import Deployment, Quota

_KIND = "router"
_EVERY = "*"


class Amount(BaseModel):
    """Requests, tokens and USD."""

    requests: int = 0
    tokens: int = 0
    usd: float = 0.0

    def add(self, other: Amount, sign: Literal[1, -1] = 1) -> None:
        """Add another amount, or take it away."""
        self.requests += sign * other.requests
        self.tokens += sign * other.tokens
        self.usd += sign * other.usd


class _Kept(BaseModel):
    """All that is stored."""

    used: dict[str, Amount] = {}
    """By what a quota is about and the beginning of its time."""
    cooldowns: dict[str, float] = {}
    """Until when a deployment is left alone, in seconds since 1970."""
    seconds: dict[str, float] = {}
    """How long deployments took to their first word, lately."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a quota for somebody.

    Attributes:
        quota: The quota.
        about: The provider, deployment or owner.
        used: Reservations included.
        resets_at: When its time begins anew.
    """

    quota: Quota
    about: str
    used: Amount
    resets_at: datetime

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
    def share(self) -> float:
        """How much is left of what is scarcest, from 0 to 1."""
        quota = self.quota
        limits = (quota.requests, quota.tokens, quota.usd)
        rests = (self.requests, self.tokens, self.usd)
        pairs = zip(rests, limits, strict=True)
        return min(rest / limit for rest, limit in pairs if limit and rest is not None)


def _rest(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(0, limit - used)


@dataclass(slots=True)
class Reservation:
    """What a call may cost, until it is known what it did."""

    amount: Amount
    keys: Sequence[str]


@dataclass(slots=True)
class Ledger:
    """Keeps accounts for one router, in the server's storage once that is there.

    Attributes:
        quotas: What may be used.
    """

    quotas: Sequence[Quota]
    _kept: _Kept = field(default_factory=_Kept)
    _storage: StateStorage | None = None
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _changes: int = 0
    _stored: int = 0

    async def open(self, storage: StateStorage) -> None:
        """Go on with what the storage has; reservations of a process that died count as used."""
        self._storage = storage
        body = await storage.read_state("", "", _KIND)
        if body is not None:
            self._kept = _Kept.model_validate_json(body)

    def left(self, deployment: Deployment, owner: str) -> list[Left]:
        """Return what is left of each quota that a call by `owner` to a deployment uses."""
        return [self._left(quota, about) for quota, about in self._about(deployment, owner)]

    async def reserve(
        self, deployment: Deployment, owner: str, worst: Amount
    ) -> Reservation | None:
        """Take what a call may use at worst out of every quota; None if one has less left."""
        lefts = self.left(deployment, owner)
        if not all(_has(left, worst) for left in lefts):
            return None
        keys = list(dict.fromkeys(_key(left.quota, left.about) for left in lefts))
        reservation = Reservation(worst, keys)
        self._add(keys, worst)
        try:
            await self._save()
        except BaseException:  # the caller has left: nothing will be asked
            self._replace(reservation, Amount())
            raise
        return reservation

    async def settle(self, reservation: Reservation, actual: Amount) -> None:
        """Put what a call did use in the place of what was reserved for it."""
        self._replace(reservation, actual)
        await self._save()

    def _replace(self, reservation: Reservation, actual: Amount) -> None:
        for key in reservation.keys:
            if used := self._kept.used.get(key):
                used.add(reservation.amount, -1)
                used.add(actual)
        reservation.amount = actual

    def cooldown(self, deployment: Deployment) -> float:
        """Return for how many seconds a deployment is still left alone."""
        return max(0.0, self._kept.cooldowns.get(deployment.id, 0.0) - time.time())

    async def cool(self, deployment: Deployment, seconds: float) -> None:
        """Leave a deployment alone for so long."""
        self._kept.cooldowns[deployment.id] = time.time() + seconds
        await self._save()

    def first_word(self, deployment: Deployment) -> float:
        """Return how many seconds a deployment took to its first word lately; 0 if never called."""
        return self._kept.seconds.get(deployment.id, 0.0)

    def note_first_word(self, deployment: Deployment, seconds: float) -> None:
        """Note how long a deployment took to its first word."""
        before = self._kept.seconds.get(deployment.id, seconds)
        self._kept.seconds[deployment.id] = 0.7 * before + 0.3 * seconds

    def _about(self, deployment: Deployment, owner: str) -> Iterator[tuple[Quota, str]]:
        for quota in self.quotas:
            match quota.scope:
                case "owner":
                    named, about = quota.owner, owner
                case "provider":
                    named, about = quota.provider, deployment.paid_to
                case "deployment":
                    named, about = quota.deployment, deployment.id
            if named in (_EVERY, about):
                yield quota, about

    def _left(self, quota: Quota, about: str) -> Left:
        used = self._kept.used.get(_key(quota, about), Amount())
        return Left(quota, about, used, _times(quota)[1])

    def _add(self, keys: Sequence[str], amount: Amount) -> None:
        for key in keys:
            if key not in self._kept.used:
                self._forget_past()
                self._kept.used[key] = Amount()
            self._kept.used[key].add(amount)

    def _forget_past(self) -> None:
        current = {_times(quota)[0].isoformat() for quota in self.quotas}
        for key in [key for key in self._kept.used if key.rpartition(" ")[2] not in current]:
            del self._kept.used[key]

    async def _save(self) -> None:
        """Store all changes made until now; those made meanwhile go with the next write."""
        self._changes += 1
        mine = self._changes
        if self._storage is None:
            return
        async with self._writing:
            if self._stored >= mine:
                return
            now = self._changes
            body = self._kept.model_dump_json().encode()
            await self._storage.write_state("", "", _KIND, body)
            self._stored = now


def _has(left: Left, worst: Amount) -> bool:
    return (
        (left.requests is None or left.requests >= worst.requests)
        and (left.tokens is None or left.tokens >= worst.tokens)
        and (left.usd is None or left.usd >= worst.usd - 1e-12)
    )


def _key(quota: Quota, about: str) -> str:
    return f"{quota.scope} {quota.per} {about} {_times(quota)[0].isoformat()}"


def _times(quota: Quota) -> tuple[datetime, datetime]:
    """Return when the time of a quota has begun, and when it begins anew."""
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    if quota.per == "minute":
        return now, now + timedelta(minutes=1)
    today = now.replace(hour=0, minute=0)
    if quota.per == "day":
        return today, today + timedelta(days=1)
    first = today.replace(day=1)
    return first, (first + timedelta(days=32)).replace(day=1)
