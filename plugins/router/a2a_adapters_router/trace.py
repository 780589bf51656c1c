"""Trace of routing decisions, in OmniRoute's documented format."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from a2a_adapters_router.calls import Usage

if TYPE_CHECKING:
    from a2a_adapters.plugin import JSON
    from a2a_adapters_router.deployment import Deployment
    from a2a_adapters_router.joining import How

What: TypeAlias = Literal[
    "primary_selected",
    "fallback_needed",
    "fallback_selected",
    "retry",
    "cooldown",
    "quota_skipped",
    "not_supported",
    "cache_hit",
]

_WITHIN = "within all budgets and quotas"
_TOO_LITTLE = "no budget or quota has enough left"

OVER_BUDGET = -32004
NO_PROVIDER = -32005


@dataclass(slots=True)
class Trace:
    """The trace of a message.

    Attributes:
        rule: Why the first deployment comes first.
        estimated: Maximum cost in USD.
        actual: Actual cost in USD over all attempts.
        allowed: Whether a call was allowed.
        reason: Why it was or was not.
        finish_reason: OpenAI's finish reason.
        is_cached: Whether the answer came from the cache.
    """

    rule: str
    estimated: float = 0.0
    actual: float = 0.0
    allowed: bool = True
    reason: str = _WITHIN
    _events: list[dict[str, JSON]] = field(default_factory=list)
    _skipped: dict[str, str] = field(default_factory=dict)
    finish_reason: str = ""
    is_cached: bool = False
    _cut: str = ""
    _seconds: float = 0.0
    _is_called: bool = False
    _spent: dict[str, tuple[Usage, float]] = field(default_factory=dict)

    def spend(self, deployment: Deployment, usage: Usage, cost: float) -> None:
        """Record the usage of a call and its cost in USD."""
        self.actual += cost
        if deployment.agent is None:  # the bill of an agent's task names its models
            known, paid = self._spent.get(deployment.id, (Usage(), 0.0))
            self._spent[deployment.id] = (known + usage, paid + cost)

    def select(self, deployment: Deployment, cost: float, *, is_retry: bool) -> None:
        """Record a call and the resulting maximum cost in USD."""
        self.allowed, self.reason, self._is_called = True, _WITHIN, True
        self.estimated = max(self.estimated, cost)
        is_first = not any(event["event"] == "primary_selected" for event in self._events)
        what: What = "primary_selected" if is_first else "fallback_selected"
        self._note("retry" if is_retry else what, deployment, self.rule)

    def answered(
        self,
        deployment: Deployment,
        seconds: float,
        how: How | None,
        finish_reason: str,
        cut: tuple[int, str],
    ) -> None:
        """Record an answer.

        Args:
            deployment: The deployment.
            seconds: Duration.
            how: The way it continued an earlier answer.
            finish_reason: OpenAI's finish reason; "" if unknown.
            cut: Maximum length of the answer in tokens and the limit behind it; "" for none.
        """
        self._seconds, self.finish_reason = seconds, finish_reason
        tokens, by = cut
        if by and finish_reason == "length":
            self._cut = f"truncated after {tokens:,} tokens by {by}"
            self.reason = f"{_WITHIN}; the answer is {self._cut}"
        self._ended(deployment, seconds, how)

    def _ended(self, deployment: Deployment, seconds: float, how: How | None) -> None:
        """Complete the event of the attempt."""
        attempt = next(e for e in reversed(self._events) if e["model"] == deployment.id)
        attempt["latency_ms"] = round(seconds * 1000)
        if how:
            attempt["answer"] = how

    def recall(self, deployment: Deployment, finish_reason: str) -> None:
        """Record a cache hit."""
        self.allowed, self.reason, self.is_cached = True, _WITHIN, True
        self.finish_reason = finish_reason
        self._note("cache_hit", deployment, "same question as before")

    def cool(self, deployment: Deployment, seconds: float) -> None:
        """Record a deployment skipped because of its cooldown."""
        self._skip("cooldown", deployment, f"cooling down for {math.ceil(seconds)} s")

    @property
    def is_declined(self) -> bool:
        """Whether all deployments were skipped because of the message or a limit."""
        return not self.allowed or {event["event"] for event in self._events} == {"not_supported"}

    def lack(self, deployment: Deployment, reason: str) -> None:
        """Record a deployment skipped because it does not support the message."""
        if not self._events:
            self.reason = "no model of the route supports the message"
        self._skip("not_supported", deployment, reason)

    def skip(self, deployment: Deployment, reason: str, resets_at: datetime | None) -> None:
        """Record a deployment skipped because of its cost.

        After an allowed call that failed, this does not count as a refusal.
        """
        self.allowed = self._is_called
        self.reason = f"{_TOO_LITTLE} for {'another call' if self._is_called else 'it'}"
        event = self._skip("quota_skipped", deployment, reason)
        if resets_at is not None:
            event["resets_at"] = resets_at.isoformat()

    def fail(self, deployment: Deployment, reason: str, seconds: float, how: How | None) -> None:
        """Record a failed or incomplete answer."""
        self._ended(deployment, seconds, how)
        self._skip("fallback_needed", deployment, reason, round(seconds * 1000))

    def _skip(
        self, what: What, deployment: Deployment, reason: str, latency_ms: int | None = None
    ) -> dict[str, JSON]:
        self._skipped[deployment.id] = reason
        return self._note(what, deployment, reason, latency_ms)

    def _note(
        self, what: What, deployment: Deployment, reason: str, latency_ms: int | None = None
    ) -> dict[str, JSON]:
        event: dict[str, JSON] = {
            "event": what,
            "provider": deployment.paid_to,
            "model": deployment.id,
            "reason": reason,
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
        if latency_ms is not None:
            event["latency_ms"] = latency_ms
        self._events.append(event)
        return event

    @property
    def refusal(self) -> str:
        """Why no deployment was called."""
        why = "; ".join(f"{name}: {reason}" for name, reason in self._skipped.items())
        return f"{self.reason} ({why})"

    def metadata(self, used: Deployment | None, usage: Usage) -> dict[str, JSON]:
        """Return the routing metadata for the task.

        Args:
            used: The deployment that answered, if any.
            usage: Total usage of all attempts.
        """
        values: dict[str, JSON] = {
            "routing_explanation": self._explanation(used),
            "cost_envelope": {
                "estimated": round(self.estimated, 9),
                "actual": round(self.actual, 9),
                "currency": "USD",
            },
            "resilience_trace": list(self._events),
            "policy_verdict": {
                "allowed": self.allowed,
                "reason": self.reason if self.allowed else self.refusal,
            },
            "usage": _tokens(usage),
        }
        models: dict[str, JSON] = {
            name: {**_tokens(used), "usd": round(usd, 9)}
            for name, (used, usd) in self._spent.items()
        }
        if models:
            values["a2a_adapters.bill"] = {"models": models}
        if self.finish_reason:
            values["finish_reason"] = self.finish_reason
        return {**values, "model": used.id} if used else values

    def _explanation(self, used: Deployment | None) -> str:
        answered = used.id if used else ""
        others = [f"{name} ({why})" for name, why in self._skipped.items() if name != answered]
        skipped = f"; not {', '.join(others)}" if others else ""
        if used is None:
            return f"No deployment answered: {', '.join(others) or self.reason}."
        if self.is_cached:
            return f"{used.id} at {used.paid_to} from the cache: {self.rule}{skipped}."
        price, time = f"${self.actual:.6f}", f"{self._seconds * 1000:.0f} ms"
        cut = f"; {self._cut}" if self._cut else ""
        return f"{used.id} at {used.paid_to} for {price} in {time}: {self.rule}{skipped}{cut}."


def _tokens(usage: Usage) -> dict[str, JSON]:
    return {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "total_tokens": usage.total,
    }
