"""Rate limits per caller: per user or, without authentication, per address."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from a2a_adapters.net.addresses import SHARE, share_of
from a2a_adapters.security.refusals import Refusal, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

_REPORTED_SHARE = 100
"""Processes report callers that have used one in this many of their requests."""


def share_of_caller(scope: Scope) -> str:
    """Return the key under which a request is counted; "" for a client on this machine."""
    user = scope.get("user")
    if user is not None and user.display_name:
        name: str = user.display_name
        return name
    client = scope.get("client")
    return share_of(client[0]) if client else ""


class RequestRates:
    """Counts the requests of each caller in each minute of the clock.

    Args:
        most: Maximum number of requests per caller and minute; 0 means unlimited.
        behind_proxy: Whether connections come from a proxy, so that addresses do not matter.
    """

    def __init__(self, most: int, *, behind_proxy: bool = False) -> None:
        self._most = most or math.inf
        self.behind_proxy = behind_proxy
        self._minute = 0
        self._counts: dict[str, int] = {}
        self._others: Mapping[str, int] = {}

    def refusal(self, caller: str) -> Refusal | None:
        """Count a request and return the reason to refuse it, or None. "" is not limited."""
        if not caller:
            return None
        now = time.time()
        minute = int(now // 60)
        if minute != self._minute:
            self._minute, self._counts, self._others = minute, {}, {}
        count = self._counts.get(caller, 0)
        if count + self._others.get(caller, 0) < self._most:
            self._counts[caller] = count + 1
            return None
        seconds = math.ceil(60 - now % 60)
        return Refusal(
            429,
            "RESOURCE_EXHAUSTED",
            f"a caller may send {self._most} requests per minute; try again in {seconds} s",
            {"Retry-After": str(seconds)},
        )

    def shares(self) -> Mapping[str, int]:
        """Return the counts of frequent callers to report to other processes, by minute."""
        least = self._most / _REPORTED_SHARE
        return {f"{self._minute} {who}": n for who, n in self._counts.items() if n > least}

    @property
    def others(self) -> Mapping[str, int]:
        """The counts of this minute that other processes have reported."""
        return self._others

    @others.setter
    def others(self, counts: Mapping[str, int]) -> None:
        now = f"{self._minute} "
        self._others = {key[len(now) :]: n for key, n in counts.items() if key.startswith(now)}


class RateLimit:
    """ASGI middleware that refuses the requests of callers who exceed their rate."""

    def __init__(self, app: ASGIApp, rates: RequestRates) -> None:
        self._app = app
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        if self._rates.behind_proxy:
            scope = _without_proxy(scope)
        share = scope[SHARE] = share_of_caller(scope)
        refusal = self._rates.refusal(share)
        if refusal is not None:
            await refuse(refusal, scope, receive, send)
            return
        await self._app(scope, receive, send)


def _without_proxy(scope: Scope) -> Scope:
    """Return a scope whose client comes from `X-Forwarded-For`, or is unknown.

    The server sets the client from that header if it trusts the proxy. Otherwise the client is the
    proxy itself, whose callers would share one caller's rate.
    """
    client = scope.get("client")
    forwarded = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    if client is None or any(client[0].encode() in value for value in forwarded):
        return scope
    return {**scope, "client": None}
