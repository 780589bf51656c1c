"""Prometheus metrics of routing decisions, calls and costs, in the default registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client import Counter, Histogram

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEPLOYMENT = ["router", "provider", "model"]

_DECISIONS = Counter("a2a_router_decisions", "Messages routed.", ["router", "outcome"])
_EVENTS = Counter("a2a_router_events", "Events of routing.", [*_DEPLOYMENT, "event"])
_SECONDS = Histogram(
    "a2a_router_call_seconds",
    "Duration of calls to models and agents.",
    [*_DEPLOYMENT, "outcome"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120),
)
_TOKENS = Counter("a2a_router_tokens", "Tokens used.", [*_DEPLOYMENT, "direction"])
_COST = Counter("a2a_router_cost_usd", "Cost of calls in USD.", _DEPLOYMENT)


class Metrics:
    """Counts the decisions of one router.

    Args:
        router: Name of the router.
    """

    def __init__(self, router: str) -> None:
        self._router = router

    def add(self, decision: Mapping[str, Any]) -> None:
        """Count a decision of `Attempts.decision`."""
        _DECISIONS.labels(self._router, decision["outcome"]).inc()
        for event in decision["trace"]:
            _EVENTS.labels(*self._deployment(event), event["event"]).inc()
        for call in decision["calls"]:
            deployment = self._deployment(call)
            _SECONDS.labels(*deployment, call["outcome"]).observe(call["seconds"])
            _TOKENS.labels(*deployment, "input").inc(call["input_tokens"])
            _TOKENS.labels(*deployment, "output").inc(call["output_tokens"])
            _COST.labels(*deployment).inc(call["usd"])

    def _deployment(self, about: Mapping[str, Any]) -> tuple[str, str, str]:
        return self._router, about["provider"], about["model"]
