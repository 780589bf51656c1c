"""What callers get a share of: a user's name or, where nobody has one, a client's address."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from a2a_adapters.net.addresses import SHARE, share_of
from a2a_adapters.security.refusals import Refusal, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

_TOLD = 100
"""Processes tell each other of callers who have sent one in so many of the requests they may."""


def share_of_caller(scope: Scope) -> str:
    """Return by what the caller of a request is known; "" is a client on this machine."""
    user = scope.get("user")
    if user is not None and user.display_name:
        name: str = user.display_name
        return name
    client = scope.get("client")
    return share_of(client[0]) if client else ""


class RequestRates:
    """Counts the requests of each caller, from one full minute of the clock to the next.

    Args:
        most: How many a caller may send in a minute; 0 is any number.
        behind_proxy: Whether connections are a proxy's, so that their addresses say nothing.
    """

    def __init__(self, most: int, *, behind_proxy: bool = False) -> None:
        self._most = most or math.inf
        self.behind_proxy = behind_proxy
        self._minute = 0
        self._counts: dict[str, int] = {}
        self._others: Mapping[str, int] = {}

    def refusal(self, caller: str) -> Refusal | None:
        """Count a request; return why it is refused, if it is. Who is "" may send any number."""
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
            f"a caller may send {self._most} requests a minute; try again in {seconds} s",
            {"Retry-After": str(seconds)},
        )

    def shares(self) -> Mapping[str, int]:
        """Return what other processes are told: the counts of those who send much, by minute."""
        least = self._most / _TOLD
        return {f"{self._minute} {who}": n for who, n in self._counts.items() if n > least}

    @property
    def others(self) -> Mapping[str, int]:
        """What callers have sent to other processes in this minute, as far as these have told."""
        return self._others

    @others.setter
    def others(self, told: Mapping[str, int]) -> None:
        now = f"{self._minute} "
        self._others = {key[len(now) :]: n for key, n in told.items() if key.startswith(now)}


class RateLimit:
    """ASGI middleware: refuses the requests of callers who send too many.

    Args:
        app: What is protected.
        rates: Counts them.
    """

    def __init__(self, app: ASGIApp, rates: RequestRates) -> None:
        self._app = app
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        if self._rates.behind_proxy:
            scope = _without_proxy(scope)
        share = scope[SHARE] = share_of_caller(scope)
        refusal = self._rates.refusal(share)
        if refusal is not None:
            await refuse(refusal, scope, receive, send)
            return
        await self._app(scope, receive, send)


def _without_proxy(scope: Scope) -> Scope:
    """Return a scope whose client is one that `X-Forwarded-For` names, or unknown.

    The server takes the client from that header if it trusts the proxy. Otherwise the client is
    the proxy itself, and all who use it would share what one caller may have.
    """
    client = scope.get("client")
    forwarded = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
    if client is None or any(client[0].encode() in value for value in forwarded):
        return scope
    return {**scope, "client": None}
