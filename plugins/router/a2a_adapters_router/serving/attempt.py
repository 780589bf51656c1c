"""Attempts to answer a message with the deployments of its route."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from a2a_adapters import A2AAdaptersError, Data
from a2a_adapters.plugin import as_text
from a2a_adapters_router.book import Refusal
from a2a_adapters_router.cache import Answer
from a2a_adapters_router.calls import (
    Chunk,
    Corrected,
    Ended,
    FailedCallError,
    OtherParts,
    Prompt,
    Usage,
    Used,
)
from a2a_adapters_router.joining import Joiner
from a2a_adapters_router.page import Amount
from a2a_adapters_router.pricing import CostBound
from a2a_adapters_router.trace import Trace

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from datetime import datetime

    from a2a_adapters import Part
    from a2a_adapters.plugin import JSON
    from a2a_adapters_router.calls import Message, News
    from a2a_adapters_router.choice import Choice
    from a2a_adapters_router.deployment import Deployment
    from a2a_adapters_router.ledger import Reservation
    from a2a_adapters_router.route import Route
    from a2a_adapters_router.router import Router

logger = logging.getLogger(__name__)

T = TypeVar("T")

_News: TypeAlias = Chunk | Corrected | OtherParts

_GO_ON: Message = {
    "role": "user",
    "content": "Your answer was cut off. Continue exactly where it ends, without repetition.",
}


class NoAnswerError(A2AAdaptersError):
    """No deployment answered or was allowed to."""


class _EmptyAnswerError(FailedCallError):
    """A deployment returned an empty answer."""

    def __init__(self, finish_reason: str) -> None:
        why = f" ({finish_reason})" if finish_reason not in ("", "stop") else ""
        super().__init__(f"its answer was empty{why}", is_callers=True)


class Attempts:
    """Tries the deployments in order until one answers.

    Args:
        router: The router.
        route: The candidate deployments.
        choice: The caller's routing parameters.
        owner: Name of the caller.
        prompt: The prompt.

    Attributes:
        trace: Record of the decisions.
        usage: Total usage of all attempts.
        used: The deployment that answered, if any.
        rejection: The reason with which the last agent rejected the message; "" if it did not.
        calls: Each call's model, provider, outcome, seconds, tokens and USD, for the history.
    """

    def __init__(
        self, router: Router, route: Route, choice: Choice, owner: str, prompt: Prompt
    ) -> None:
        self._router = router
        self._route = route
        self._choice = choice
        self._owner = owner
        self._prompt = prompt
        self._sent = ""
        self._empty: Deployment | None = None
        self._has_failed = False
        self._question: str | None = None
        self.trace = Trace(route.rule)
        self.usage = Usage()
        self.used: Deployment | None = None
        self.rejection = ""
        self.calls: list[dict[str, JSON]] = []

    async def answer(self) -> AsyncGenerator[_News]:
        """Yield the answer of the first deployment that gives one; nothing if all were empty.

        Raises:
            NoAnswerError: No deployment answered.
        """
        ordered = await self._router.routes.ordered(self._route, self._owner)
        if cache := self._router.cache:
            self._question = await cache.question(
                self._prompt, self._choice.max_tokens, self._owner
            )
        for deployment in ordered:
            if cached := self._cached(deployment, ordered):
                for each in cached:
                    yield each
                return
            async with aclosing(self._try(deployment)) as news:
                async for each in news:
                    yield each
            if self.used:
                return
        if self._empty is None or self._has_failed:
            raise NoAnswerError("no deployment of the route answered")
        self.used = self._empty

    async def _try(self, deployment: Deployment) -> AsyncGenerator[_News]:
        """Call a deployment, with retries, until it answers or is given up."""
        retries = _either(deployment.retries, self._router.config.retries)
        for attempt in range(1 + retries):
            admitted = await self._admit(deployment, is_retry=attempt > 0)
            if admitted is None:
                return
            try:
                async with aclosing(self._ask(deployment, admitted)) as news:
                    async for each in news:
                        yield each
            except _EmptyAnswerError:
                self._empty = self._empty or deployment
                return
            except FailedCallError as error:
                self._has_failed, self.rejection = True, error.rejection
                if attempt == retries or not error.is_passing or error.wait:
                    await self._leave(deployment, error)
                    return
            else:
                self.used = deployment
                return

    def _cached(self, deployment: Deployment, allowed: Sequence[Deployment]) -> Sequence[_News]:
        """Return the cached answer of a deployment's group, empty without one."""
        cache, question = self._router.cache, self._question
        if cache is None or question is None or self._sent or not self._choice.cache:
            return ()
        answer = cache.get(question, deployment.model_name, allowed)
        if answer is None:
            return ()
        self.used = next(each for each in allowed if each.id == answer.model)
        self.trace.recall(self.used, answer.finish_reason)
        text = [Chunk(answer.text)] if answer.text else []
        return [*text, *(OtherParts([Data(value)]) for value in answer.data)]

    def metadata(self) -> dict[str, JSON]:
        """Return the routing metadata for the task."""
        return self.trace.metadata(self.used, self.usage)

    def decision(self) -> dict[str, JSON]:
        """Return the decision for the history, without any content."""
        metadata = self.metadata()
        is_refused = self.used is None and self.trace.is_declined
        answered = "answered" if self.used else "refused" if is_refused else "failed"
        if self.trace.is_cached:
            answered = "cached"
        asked = self._choice.model_dump(
            include={"model", "combo", "role", "tags", "budget"}, exclude_defaults=True
        )
        is_left = bool(self.calls) and self.calls[-1]["outcome"] == "left"
        return {
            "outcome": "left" if is_left else answered,
            "asked": asked,
            "model": self.used.id if self.used else None,
            "explanation": metadata["routing_explanation"],
            "calls": list(self.calls),
            "trace": metadata["resilience_trace"],
        }

    async def _admit(self, deployment: Deployment, *, is_retry: bool) -> _Admitted | None:
        """Reserve the maximum cost of a call; None if it is refused, with the reason traced."""
        trace, ledger = self.trace, self._router.ledger
        if wait := ledger.cooldown(deployment):
            trace.cool(deployment, wait)
            return None
        prompt = self._to_send()
        callee, tariff = self._router.callees[deployment.id], self._router.tariffs[deployment.id]
        if lack := callee.lacks(prompt):
            trace.lack(deployment, lack)
            return None
        sent = await asyncio.to_thread(callee.count, prompt)
        if tariff.max_input_tokens is not None and sent > tariff.max_input_tokens:
            most = f"its limit is {tariff.max_input_tokens:,} tokens, and the prompt has {sent:,}"
            trace.lack(deployment, most)
            return None
        worst = self._worst(deployment, sent + deployment.file_tokens(prompt.media))
        reserved = await ledger.reserve(deployment, self._owner, worst.fit)
        if isinstance(reserved, Refusal):
            if reserved.wait:
                trace.cool(deployment, reserved.wait)
            else:
                trace.skip(deployment, *self._why(reserved, worst))
            return None
        trace.select(deployment, trace.actual + reserved.amount.usd, is_retry=is_retry)
        cut_by = {"budget": f"the budget of ${self._choice.budget}", "quota": "a quota"}
        usage = Usage(worst.sent, worst.longest)
        return _Admitted(prompt, usage, reserved, cut_by.get(worst.by, ""))

    def _worst(self, deployment: Deployment, sent: int) -> CostBound:
        tariff, budget = self._router.tariffs[deployment.id], self._choice.budget
        return CostBound(
            tariff,
            sent,
            budget=None if budget is None else budget - self.trace.actual,
            full=min(tariff.max_tokens, self._choice.max_tokens or tariff.max_tokens),
            least=1 if deployment.agent else self._router.config.min_tokens,
        )

    def _why(self, refusal: Refusal, worst: CostBound) -> tuple[str, datetime | None]:
        """Return the exhausted limits and when they reset."""
        if refusal.short:
            names, resets = zip(*refusal.short, strict=True)
            return ", ".join(names), max(resets)
        spent = f", of which ${self.trace.actual:.6f} is spent" if self.trace.actual else ""
        budget = f"the budget is ${self._choice.budget:g}{spent}"
        return f"{budget}, and the shortest answer costs ${worst.needed:.6f}", None

    def _to_send(self) -> Prompt:
        if not self._sent:
            return self._prompt
        sent: Message = {"role": "assistant", "content": self._sent}
        return replace(self._prompt, messages=[*self._prompt.messages, sent, _GO_ON])

    async def _ask(self, deployment: Deployment, admitted: _Admitted) -> AsyncGenerator[_News]:
        """Call a deployment, yield the new text of its answer, and settle its cost."""
        callee, call = self._router.callees[deployment.id], _Call()
        joiner, pace = Joiner(self._sent), self._router.pace
        pace.running[deployment.id] += 1
        try:
            async with aclosing(callee.call(admitted.prompt, admitted.worst.output)) as news:
                async for each in news:
                    if new := self._read(each, deployment, call, joiner):
                        yield new
            if not call.received and not call.others:
                raise _EmptyAnswerError(call.finish_reason)
            if new := self._new(joiner.end()):
                yield new
            call.end = "answered"
            cut = admitted.worst.output, admitted.cut_by
            self.trace.answered(deployment, call.seconds, joiner.how, call.finish_reason, cut)
            if self._router.cache and self._question and admitted.prompt is self._prompt:
                self._router.cache.add(self._question, deployment, call.answer(deployment))
        except FailedCallError as error:
            call.end = "failed"
            logger.warning("deployment %s failed: %s", deployment.id, error.reason)
            self.trace.fail(deployment, error.reason, call.seconds, joiner.how)
            raise
        finally:
            pace.running[deployment.id] -= 1
            await self._pay(deployment, admitted, call)

    def _read(
        self, news: News, deployment: Deployment, call: _Call, joiner: Joiner
    ) -> _News | None:
        """Record the events of a call, and return the new part of the answer."""
        match news:
            case Chunk(text=text):
                if not call.received:
                    self._router.pace.note(deployment.id, call.seconds)
                call.received += text
                return self._new(joiner.add(text))
            case Corrected(text=text):
                call.received = text
                self._sent = joiner.restart(text)
                return Corrected(self._sent)
            case OtherParts(parts=parts):
                call.others += parts
                return news
            case _:
                call.note(news)
                return None

    def _new(self, text: str) -> Chunk | None:
        self._sent += text
        return Chunk(text) if text else None

    async def _pay(self, deployment: Deployment, admitted: _Admitted, call: _Call) -> None:
        """Settle the actual usage of a call, or the maximum if it is abandoned."""
        usage: Usage | None = admitted.worst
        try:
            usage = await self._used(deployment, admitted, call)
        finally:
            cost = self._router.tariffs[deployment.id].cost(usage) if usage else 0.0
            used = usage or Usage()
            self.trace.spend(deployment, used, cost)
            self.usage = self.usage + used
            self.calls.append(
                {
                    "model": deployment.id,
                    "provider": deployment.paid_to,
                    "outcome": call.end,
                    "seconds": round(call.seconds, 3),
                    "input_tokens": used.input,
                    "output_tokens": used.output,
                    "usd": round(cost, 9),
                }
            )
            amount = Amount(requests=1, tokens=used.total, usd=cost)
            await self._router.ledger.settle(admitted.reservation, amount)

    async def _used(self, deployment: Deployment, admitted: _Admitted, call: _Call) -> Usage | None:
        """Return a call's usage, reported by the provider or else counted; None without any."""
        if call.reported is not None and call.reported.is_sensible(call.received):
            return call.reported
        if call.end == "left":  # the provider's report will not be read
            return admitted.worst
        if call.end == "failed" and not call.received:
            return None
        count = self._router.callees[deployment.id].count
        content = call.received + as_text(call.others)
        sent: Message = {"role": "assistant", "content": content}
        made = await asyncio.to_thread(count, Prompt([sent])) if content else 0
        return Usage(admitted.worst.input, made)

    async def _leave(self, deployment: Deployment, error: FailedCallError) -> None:
        """Start a cooldown, unless the caller's input caused the failure."""
        config = self._router.config
        seconds = error.wait or _either(deployment.cooldown_seconds, config.cooldown_seconds)
        if not error.is_callers:
            self._router.pace.fail(
                deployment.id, deployment.timeout_seconds or config.timeout_seconds
            )
            fails = 0 if error.wait else config.allowed_fails
            await self._router.ledger.cool(deployment, seconds, fails)


def _either(own: T | None, default: T) -> T:
    return default if own is None else own


@dataclass(frozen=True, slots=True)
class _Admitted:
    """An admitted call.

    Attributes:
        prompt: The prompt.
        worst: The maximum usage.
        reservation: Its reservation.
        cut_by: The limit that shortens its answer; "" for none.
    """

    prompt: Prompt
    worst: Usage
    reservation: Reservation
    cut_by: str


@dataclass(slots=True)
class _Call:
    """A running call.

    Attributes:
        received: Text received so far.
        others: Other parts received.
        reported: Usage reported by the provider.
        finish_reason: OpenAI's finish reason.
        end: The outcome; initially "left", which stays if the caller leaves.
        begun: Start time.
    """

    received: str = ""
    others: list[Part] = field(default_factory=list)
    reported: Usage | None = None
    finish_reason: str = ""
    end: Literal["left", "answered", "failed"] = "left"
    begun: float = field(default_factory=time.monotonic)

    def note(self, news: Used | Ended) -> None:
        """Record a report of the provider."""
        if isinstance(news, Used):
            self.reported = news.usage
        else:
            self.finish_reason = news.reason

    def answer(self, deployment: Deployment) -> Answer:
        """Return the received answer."""
        data = [part.value for part in self.others if isinstance(part, Data)]
        return Answer(deployment.id, self.received, data, self.finish_reason)

    @property
    def seconds(self) -> float:
        """Duration so far."""
        return time.monotonic() - self.begun
