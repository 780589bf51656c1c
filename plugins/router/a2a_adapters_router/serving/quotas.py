"""The skill `quota-management`: remaining quotas and their resets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_adapters.plugin import JSON
    from a2a_adapters_router.deployment import Deployment
    from a2a_adapters_router.ledger import Remainder
    from a2a_adapters_router.router import Router

_RANKING = re.compile(r"ranking|most quota|\bbest\b", re.IGNORECASE)
_FREE = re.compile(r"\bfree\b|suggest", re.IGNORECASE)
_LOW = 0.1
"""Remaining share below which a quota is low."""

SCHEMA: dict[str, JSON] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "provider": {"type": "string"},
            "deployment": {"type": "string"},
            "free": {"type": "boolean"},
            "usd_per_million_input_tokens": {"type": "number"},
            "usd_per_million_output_tokens": {"type": "number"},
            "usd_per_request": {"type": "number"},
            "left": {"type": "number", "minimum": 0, "maximum": 1},
            "quotas": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "of": {"enum": ["provider", "deployment", "owner", "team", "total"]},
                        "per": {"enum": ["minute", "day", "month"]},
                        "used": {"type": "object"},
                        "left": {"type": "object"},
                        "resets_at": {"type": "string", "format": "date-time"},
                    },
                    "required": ["of", "per", "used", "left", "resets_at"],
                },
            },
        },
        "required": ["provider", "deployment", "free", "left", "quotas"],
    },
}


class QuotaReport:
    """A report of a router's quotas for one caller, without those of others.

    Args:
        router: The router.
        owner: The caller.
    """

    def __init__(self, router: Router, owner: str) -> None:
        self._router = router
        self._deployments = router.routes.open_to(owner)
        self._lefts = {each.id: router.ledger.left(each, owner) for each in self._deployments}

    def answer(self, question: str) -> tuple[str, list[JSON]]:
        """Answer a question in natural language, as text and as data, best first."""
        ranked = sorted(self._deployments, key=lambda each: -self._share(each))
        if _FREE.search(question):
            free = [each for each in ranked if self._is_free(each)]
            text = self._listed("Free to use:", free) if free else "Nothing here is free."
            return self._with_combos(text, free), [self._data(each) for each in free]
        if _RANKING.search(question):
            return self._listed("Most quota left first:", ranked), [*map(self._data, ranked)]
        return self._summary(ranked), [*map(self._data, ranked)]

    def _share(self, deployment: Deployment) -> float:
        return min((left.share for left in self._lefts[deployment.id]), default=1.0)

    def _is_free(self, deployment: Deployment) -> bool:
        price = self._router.tariffs[deployment.id].price
        return not (price.input or price.output or price.request)

    def _listed(self, title: str, deployments: Iterable[Deployment]) -> str:
        lines = [
            f"{number}. {each.id} ({each.paid_to}): {self._words(each)}"
            for number, each in enumerate(deployments, 1)
        ]
        return "\n".join([title, *lines])

    def _with_combos(self, text: str, free: list[Deployment]) -> str:
        names = {name for each in free for name in (each.id, each.model_name)}
        combos = [
            name
            for name, combo in self._router.config.combos.items()
            if names.issuperset(combo.route)
        ]
        return f"{text}\nFree combos: {', '.join(combos)}" if combos else text

    def _summary(self, ranked: list[Deployment]) -> str:
        low = [each.id for each in ranked if self._share(each) < _LOW]
        text = self._listed("Quotas:", ranked)
        return f"{text}\nWarning: low quota for {', '.join(low)}." if low else text

    def _words(self, deployment: Deployment) -> str:
        remainders = self._lefts[deployment.id]
        return "; ".join(map(_phrase, remainders)) if remainders else "no limit"

    def _data(self, deployment: Deployment) -> JSON:
        price = self._router.tariffs[deployment.id].price
        return {
            "provider": deployment.paid_to,
            "deployment": deployment.id,
            "free": self._is_free(deployment),
            "usd_per_million_input_tokens": price.input,
            "usd_per_million_output_tokens": price.output,
            "usd_per_request": price.request,
            "left": round(self._share(deployment), 4),
            "quotas": [_quota(left) for left in self._lefts[deployment.id]],
        }


def _rests(left: Remainder) -> dict[str, Any]:
    rests = {"requests": left.requests, "tokens": left.tokens, "usd": left.usd}
    return {name: rest for name, rest in rests.items() if rest is not None}


def _phrase(left: Remainder) -> str:
    units = {"requests": "{:,} requests", "tokens": "{:,} tokens", "usd": "${:.4f}"}
    rests = ", ".join(units[name].format(rest) for name, rest in _rests(left).items())
    return f"{rests} left this {left.quota.per}, until {left.resets_at:%Y-%m-%d %H:%M} UTC"


def _quota(left: Remainder) -> JSON:
    quota, used = left.quota, left.used
    return {
        "of": quota.scope,
        "per": quota.per,
        "used": {"requests": used.requests, "tokens": used.tokens, "usd": round(used.usd, 9)},
        "left": _rests(left),
        "resets_at": left.resets_at.isoformat(),
    }
