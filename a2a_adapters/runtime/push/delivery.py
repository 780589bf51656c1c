"""Delivers push notifications: retries them, and limits concurrency."""

from __future__ import annotations

import asyncio
import enum
import logging
from typing import TYPE_CHECKING

import httpx

from a2a_adapters.concurrency import end_if_cancelled
from a2a_adapters.contract.errors import ForbiddenUrlError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Awaitable, Callable, Coroutine

    from a2a_adapters.runtime.push import PushOptions
    from a2a_adapters.runtime.push.configs import Target

_CONNECTIONS = httpx.Limits(max_connections=256, max_keepalive_connections=64, keepalive_expiry=30)
_REQUESTS_PER_SERVER = 8
_RECEIVERS = 10_000
_RECEIVERS_PER_SERVER = 1_000
_MOST_READ = 1 << 16
"""Maximum bytes of an answer read in order to reuse its connection."""

_TRY_AGAIN = frozenset({408, 425, 429})

logger = logging.getLogger(__name__)


class Outcome(enum.Enum):
    """The outcome of a notification."""

    DELIVERED = "delivered"
    GIVEN_UP = "given_up"
    """The receiver did not answer, or could not take it."""
    REFUSED = "refused"
    """The receiver does not want it, or the policy forbids its URL."""


class _Server:
    """The receivers at one origin: a slow one does not delay others."""

    __slots__ = ("receivers", "requests")

    def __init__(self) -> None:
        self.requests = asyncio.Semaphore(_REQUESTS_PER_SERVER)
        self.receivers = 0


class Outbox:
    """The notifications under way; `counts` counts their outcomes."""

    def __init__(self, options: PushOptions, counts: Counter[str]) -> None:
        self._options = options
        self._counts = counts
        # Not a client: it would keep cookies of receivers.
        self._transport = options.outbound.transport(limits=_CONNECTIONS)
        self._timeout = httpx.Timeout(options.attempt_seconds).as_dict()
        self._servers: dict[object, _Server] = {}
        self._work: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def start(self, target: Target, work: Coroutine[None, None, None]) -> asyncio.Task[None] | None:
        """Do a receiver's work in the background; return None if too much is in progress."""
        server = self._servers.get(target.origin) or _Server()
        is_full = len(self._work) >= _RECEIVERS or server.receivers >= _RECEIVERS_PER_SERVER
        if self._is_closed or is_full:
            work.close()
            return None
        self._servers[target.origin] = server
        server.receivers += 1
        task = asyncio.create_task(work)
        self._work.add(task)
        task.add_done_callback(lambda done: self._ended(done, target))
        return task

    def _ended(self, task: asyncio.Task[None], target: Target) -> None:
        self._work.discard(task)
        server = self._servers[target.origin]
        server.receivers -= 1
        if not server.receivers:
            del self._servers[target.origin]
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("notifying %s failed", target.url.host, exc_info=error)

    async def deliver(
        self, target: Target, take: Callable[[], bytes], renew: Callable[[], Awaitable[None]]
    ) -> Outcome:
        """Send one notification until it is delivered, refused or given up.

        Args:
            target: The receiver.
            take: Returns the body; called in each attempt when it can be sent.
            renew: Called before each retry.
        """
        outcome = await self._deliver(target, take, renew)
        self._counts[outcome.value] += 1
        return outcome

    async def _deliver(
        self, target: Target, take: Callable[[], bytes], renew: Callable[[], Awaitable[None]]
    ) -> Outcome:
        options, pause = self._options, self._options.pause_seconds
        problem = ""
        for attempt in range(options.attempts):
            if attempt:
                await asyncio.sleep(min(pause, options.longest_pause_seconds))
                await renew()
                pause *= 2
            try:
                status = await self._post(target, take)
            except ForbiddenUrlError as error:
                return _undelivered(target, Outcome.REFUSED, str(error))
            except (httpx.HTTPError, TimeoutError) as error:
                end_if_cancelled()
                problem = type(error).__name__
                continue
            if 200 <= status < 300:
                return Outcome.DELIVERED
            problem = f"status {status}"
            if status < 500 and status not in _TRY_AGAIN:
                return _undelivered(target, Outcome.REFUSED, problem)
        return _undelivered(target, Outcome.GIVEN_UP, problem)

    async def _post(self, target: Target, take: Callable[[], bytes]) -> int:
        """Send one request and return the status of its answer."""
        async with self._servers[target.origin].requests:
            request = httpx.Request(
                "POST",
                target.url,
                content=take(),
                headers=target.headers,
                extensions={"timeout": self._timeout},
            )
            async with asyncio.timeout(self._options.attempt_seconds):
                response = await self._transport.handle_async_request(request)
                try:
                    await _read_some(response)
                finally:
                    await response.aclose()
        return response.status_code

    async def aclose(self, seconds: float) -> None:
        """Wait for notifications under way, then drop them."""
        self._is_closed = True
        if self._work:
            _, late = await asyncio.wait(self._work, timeout=seconds)
            for task in late:
                task.cancel()
            if late:
                logger.warning("%d receivers did not get all notifications", len(late))
                await asyncio.wait(late)
        await self._transport.aclose()


async def _read_some(response: httpx.Response) -> None:
    read = 0
    async for chunk in response.aiter_raw():
        read += len(chunk)
        if read > _MOST_READ:
            return


def _undelivered(target: Target, outcome: Outcome, problem: str) -> Outcome:
    # The URL's path may be a secret.
    logger.warning(
        "notification of task %s to %s %s: %s",
        target.config.task_id,
        target.url.host,
        outcome.value.replace("_", " "),
        problem,
    )
    return outcome
