"""One message's way through the deployments of its route."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_adapters import A2AAdaptersError
from a2a_adapters_router.calls import Chunk, FailedCallError, Others, Usage, Used
from a2a_adapters_router.joining import Joiner
from a2a_adapters_router.ledger import Amount
from a2a_adapters_router.trace import Trace

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a_adapters import JSON
    from a2a_adapters_router.calls import Message
    from a2a_adapters_router.choice import Choice
    from a2a_adapters_router.config import Deployment
    from a2a_adapters_router.ledger import Reservation
    from a2a_adapters_router.route import Route
    from a2a_adapters_router.router import Router

logger = logging.getLogger(__name__)

_GO_ON: Message = {
    "role": "user",
    "content": "Your answer was cut off. Go on exactly where it ends, repeating nothing.",
}


class NobodyError(A2AAdaptersError):
    """No deployment answered, or none may be asked."""


class Attempts:
    """Asks one deployment after the other until one has answered.

    Args:
        router: Whose deployments they are.
        route: Which of them, in which order.
        choice: What the caller asks.
        owner: Who the caller is.
        messages: What is sent.

    Attributes:
        trace: What was done, and why.
        usage: What they used, all together.
        used: Who answered, once somebody has.
    """

    def __init__(
        self, router: Router, route: Route, choice: Choice, owner: str, messages: Sequence[Message]
    ) -> None:
        self._router = router
        self._route = route
        self._budget = choice.budget
        self._owner = owner
        self._messages = list(messages)
        self._said = ""
        self.trace = Trace(route.rule)
        self.usage = Usage()
        self.used: Deployment | None = None

    async def answer(self) -> AsyncGenerator[Chunk | Others]:
        """Yield the answer, whoever gives it.

        Raises:
            NobodyError: Nobody does.
        """
        for deployment in self._route.deployments:
            for attempt in range(1 + self._router.config.retries):
                admitted = await self._admit(deployment, is_retry=attempt > 0)
                if admitted is None:
                    break
                try:
                    async with aclosing(self._ask(deployment, admitted)) as news:
                        async for each in news:
                            yield each
                except FailedCallError as error:
                    is_last = attempt == self._router.config.retries
                    if is_last or not error.is_passing or error.wait:
                        await self._leave(deployment, error)
                        break
                else:
                    self.used = deployment
                    return
        raise NobodyError("no deployment of the route has answered")

    def metadata(self) -> dict[str, JSON]:
        """Return what the task's metadata says of the call."""
        return self.trace.metadata(self.used, self.usage)

    async def _admit(self, deployment: Deployment, *, is_retry: bool) -> _Admitted | None:
        """Reserve what a call costs at worst; None if it is not made, with the reason noted."""
        trace, ledger = self.trace, self._router.ledger
        if wait := ledger.cooldown(deployment):
            trace.cool(deployment, wait)
            return None
        messages = self._to_send()
        count = self._router.callees[deployment.id].count
        sent = await asyncio.to_thread(count, messages)
        tokens = self._longest(deployment, sent)
        worst = Usage(sent, tokens)
        cost = self._router.tariffs[deployment.id].cost(worst)
        amount = Amount(requests=1, tokens=worst.total, usd=cost)
        reservation = await ledger.reserve(deployment, self._owner, amount) if tokens > 0 else None
        if reservation is None:
            trace.skip(deployment)
            return None
        trace.select(deployment, trace.actual + cost, is_retry=is_retry)
        return _Admitted(messages, worst, reservation)

    def _longest(self, deployment: Deployment, sent: int) -> int:
        """Return how long the answer may be for what is left of the budget and every quota."""
        lefts = self._router.ledger.left(deployment, self._owner)
        tariff = self._router.tariffs[deployment.id]
        usd = [left.usd for left in lefts if left.usd is not None]
        if self._budget is not None:
            usd.append(self._budget - self.trace.actual)
        tokens = [left.tokens - sent for left in lefts if left.tokens is not None]
        affordable = [tariff.affordable_tokens(sent, each) for each in usd]
        return min([tariff.max_tokens, *tokens, *affordable])

    def _to_send(self) -> list[Message]:
        if not self._said:
            return self._messages
        return [*self._messages, {"role": "assistant", "content": self._said}, _GO_ON]

    async def _ask(
        self, deployment: Deployment, admitted: _Admitted
    ) -> AsyncGenerator[Chunk | Others]:
        """Call a deployment, yield what is new of its answer, and pay for it."""
        callee = self._router.callees[deployment.id]
        joiner, begun = Joiner(self._said), time.monotonic()
        received, told, was_left = "", None, True
        try:
            async with aclosing(callee.call(admitted.messages, admitted.worst.output)) as news:
                async for each in news:
                    match each:
                        case Chunk(text):
                            if not received:
                                seconds = time.monotonic() - begun
                                self._router.ledger.note_first_word(deployment, seconds)
                            received += text
                            if new := self._new(joiner.add(text)):
                                yield new
                        case Used(usage):
                            told = usage
                        case Others():
                            yield each
            if new := self._new(joiner.end()):
                yield new
            was_left = False
        except FailedCallError as error:
            was_left = False
            logger.warning("deployment %s failed: %s", deployment.id, error.reason)
            self.trace.fail(deployment, error.reason, time.monotonic() - begun)
            raise
        finally:
            if was_left and told is None:  # nobody will hear what the provider bills
                told = admitted.worst
            await self._pay(deployment, admitted, received, told)

    def _new(self, text: str) -> Chunk | None:
        self._said += text
        return Chunk(text) if text else None

    async def _pay(
        self, deployment: Deployment, admitted: _Admitted, received: str, told: Usage | None
    ) -> None:
        """Settle by what the provider says it used; by counting, if it says nothing sensible."""
        usage = told
        if usage is None or usage.input <= 0 or (received and usage.output <= 0):
            count = self._router.callees[deployment.id].count
            made = count([{"role": "assistant", "content": received}]) if received else 0
            usage = Usage(admitted.worst.input if received else 0, made)
        is_made = received or told
        cost = self._router.tariffs[deployment.id].cost(usage) if is_made else 0.0
        self.trace.actual += cost
        self.usage = self.usage + usage
        amount = Amount(requests=1, tokens=usage.total, usd=cost)
        await self._router.ledger.settle(admitted.reservation, amount)

    async def _leave(self, deployment: Deployment, error: FailedCallError) -> None:
        """Leave a deployment alone for a while, unless it failed for what the caller sent."""
        if not error.is_callers:
            seconds = error.wait or self._router.config.cooldown_seconds
            await self._router.ledger.cool(deployment, seconds)


@dataclass(frozen=True, slots=True)
class _Admitted:
    """A call that may be made.

    Attributes:
        messages: What is sent.
        worst: The tokens it may use.
        reservation: What is reserved for it.
    """

    messages: Sequence[Message]
    worst: Usage
    reservation: Reservation
