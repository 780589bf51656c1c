"""One message's way through the deployments of its route."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from a2a_adapters import A2AAdaptersError
from a2a_adapters_router.book import Refusal
from a2a_adapters_router.calls import Chunk, FailedCallError, Others, Usage, Used
from a2a_adapters_router.joining import Joiner
from a2a_adapters_router.page import Amount
from a2a_adapters_router.trace import Trace

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a_adapters import JSON
    from a2a_adapters_router.calls import Message
    from a2a_adapters_router.choice import Choice
    from a2a_adapters_router.config import Deployment
    from a2a_adapters_router.ledger import Reservation, Rest
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
        for deployment in await self._router.routes.ordered(self._route, self._owner):
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

        def fit(rest: Rest) -> Amount | None:
            return self._worst(deployment, sent, rest)

        reserved = await ledger.reserve(deployment, self._owner, fit)
        if isinstance(reserved, Refusal):
            if reserved.wait:
                trace.cool(deployment, reserved.wait)
            else:
                trace.skip(deployment)
            return None
        worst = reserved.amount
        trace.select(deployment, trace.actual + worst.usd, is_retry=is_retry)
        return _Admitted(messages, Usage(sent, worst.tokens - sent), reserved)

    def _worst(self, deployment: Deployment, sent: int, rest: Rest) -> Amount | None:
        """Return what a call may use at most if its answer is as long as all limits allow."""
        tariff = self._router.tariffs[deployment.id]
        longest = tariff.max_tokens
        if rest.tokens is not None:
            longest = min(longest, rest.tokens - sent)
        if rest.usd is not None:
            longest = min(longest, tariff.affordable_tokens(sent, rest.usd))
        if self._budget is not None:
            left = self._budget - self.trace.actual
            longest = min(longest, tariff.affordable_tokens(sent, left))
        if longest <= 0:
            return None
        worst = Usage(sent, longest)
        return Amount(requests=1, tokens=worst.total, usd=tariff.cost(worst))

    def _to_send(self) -> list[Message]:
        if not self._said:
            return self._messages
        return [*self._messages, {"role": "assistant", "content": self._said}, _GO_ON]

    async def _ask(
        self, deployment: Deployment, admitted: _Admitted
    ) -> AsyncGenerator[Chunk | Others]:
        """Call a deployment, yield what is new of its answer, and pay for it."""
        callee, call = self._router.callees[deployment.id], _Call()
        joiner = Joiner(self._said)
        try:
            async with aclosing(callee.call(admitted.messages, admitted.worst.output)) as news:
                async for each in news:
                    match each:
                        case Chunk(text):
                            if not call.received:
                                self._router.ledger.note_first_word(deployment, call.seconds)
                            call.received += text
                            if new := self._new(joiner.add(text)):
                                yield new
                        case Used(usage):
                            call.told = usage
                        case Others():
                            yield each
            if new := self._new(joiner.end()):
                yield new
            call.end = "answered"
            self.trace.answered(deployment, call.seconds, joiner.how)
        except FailedCallError as error:
            call.end = "failed"
            logger.warning("deployment %s failed: %s", deployment.id, error.reason)
            self.trace.fail(deployment, error.reason, call.seconds, joiner.how)
            raise
        finally:
            await self._pay(deployment, admitted, call)

    def _new(self, text: str) -> Chunk | None:
        self._said += text
        return Chunk(text) if text else None

    async def _pay(self, deployment: Deployment, admitted: _Admitted, call: _Call) -> None:
        """Settle what a call has used; the worst, if nobody waits until that is known."""
        usage: Usage | None = admitted.worst
        try:
            usage = await self._used(deployment, admitted, call)
        finally:
            cost = self._router.tariffs[deployment.id].cost(usage) if usage else 0.0
            self.trace.actual += cost
            self.usage = self.usage + (usage or Usage())
            tokens = usage.total if usage else 0
            amount = Amount(requests=1, tokens=tokens, usd=cost)
            await self._router.ledger.settle(admitted.reservation, amount)

    async def _used(self, deployment: Deployment, admitted: _Admitted, call: _Call) -> Usage | None:
        """Return what a call has used: as the provider says, else by counting; None for nothing."""
        if call.told is not None and call.told.is_sensible(call.received):
            return call.told
        if call.end == "left":  # nobody will hear what the provider bills
            return admitted.worst
        if call.end == "failed" and not call.received:
            return None
        count = self._router.callees[deployment.id].count
        said: Message = {"role": "assistant", "content": call.received}
        made = await asyncio.to_thread(count, [said]) if call.received else 0
        return Usage(admitted.worst.input, made)

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


@dataclass(slots=True)
class _Call:
    """A call that is made.

    Attributes:
        received: What has come of its answer.
        told: What the provider says that it used.
        end: How it has ended; as long as it has not, whoever asked has left.
        begun: When it was made.
    """

    received: str = ""
    told: Usage | None = None
    end: Literal["left", "answered", "failed"] = "left"
    begun: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """How long it takes up to now."""
        return time.monotonic() - self.begun
