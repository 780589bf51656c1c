"""Cost of calls: maximum and actual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a_adapters import ConfigurationError
from a2a_adapters_router.calls import Usage
from a2a_adapters_router.deployment import Price
from a2a_adapters_router.models import model_info
from a2a_adapters_router.page import Amount

if TYPE_CHECKING:
    from a2a_adapters_router.config import RouterConfig
    from a2a_adapters_router.deployment import Deployment
    from a2a_adapters_router.ledger import Available

_MILLION = 1_000_000
_MAX_TOKENS = 4096
"""Default maximum length of an answer in tokens."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """Price and token limits of a deployment.

    Attributes:
        price: Price in USD.
        max_tokens: Maximum tokens of an answer.
        max_input_tokens: Maximum tokens of the input; None if unknown.
    """

    price: Price
    max_tokens: int
    max_input_tokens: int | None = None

    def cost(self, usage: Usage) -> float:
        """Return the cost of a call in USD."""
        price = self.price
        cached = min(usage.cached, usage.input)
        cached_price = price.input if price.cached is None else price.cached
        sent = (usage.input - cached) * price.input + cached * cached_price
        return price.request + (sent + usage.output * price.output) / _MILLION

    def affordable_tokens(self, input_tokens: int, usd: float) -> int:
        """Return the maximum answer length for an amount; 0 if it does not cover the input."""
        left = usd - self.cost(Usage(input_tokens))
        if left < 0:
            return 0
        if not self.price.output:
            return self.max_tokens
        # `min` first, because the affordable length may be infinite.
        return int(min(self.max_tokens, left * _MILLION / self.price.output + 1e-6))


@dataclass(slots=True)
class CostBound:
    """The maximum usage of a call, with the longest answer that all limits allow.

    Attributes:
        tariff: Tariff of the deployment.
        sent: Input tokens.
        budget: Remaining budget of the caller in USD; None if unlimited.
        full: Answer length without quotas and budget, in tokens.
        least: Minimum useful answer length in tokens.
        longest: Answer length allowed by the last remainders, in tokens.
        by: The limit that made it shorter than `full`: "budget", "quota", or "" for none.
    """

    tariff: Tariff
    sent: int
    budget: float | None
    full: int
    least: int
    longest: int = 0
    by: str = ""

    def fit(self, rest: Available) -> Amount | None:
        """Return the maximum usage within a remainder; None if it is not enough."""
        self.longest, self.by = self.full, ""
        if self.budget is not None:
            self._shorten(self.tariff.affordable_tokens(self.sent, self.budget), "budget")
        if rest.tokens is not None:
            self._shorten(rest.tokens - self.sent, "quota")
        if rest.usd is not None:
            self._shorten(self.tariff.affordable_tokens(self.sent, rest.usd), "quota")
        if self.longest < min(self.least, self.full):
            return None
        usage = Usage(self.sent, self.longest)
        return Amount(requests=1, tokens=usage.total, usd=self.tariff.cost(usage))

    def _shorten(self, tokens: int, by: str) -> None:
        if tokens < self.longest:
            self.longest, self.by = tokens, by

    @property
    def needed(self) -> float:
        """Cost of the shortest useful answer in USD."""
        return self.tariff.cost(Usage(self.sent, min(self.least, self.full)))


def tariff_of(deployment: Deployment, config: RouterConfig) -> Tariff:
    """Return the tariff of a deployment from the file, else from litellm's price list.

    Raises:
        ConfigurationError: The price is unknown.
    """
    info = model_info(deployment.priced_as) if deployment.priced_as else None
    longest = deployment.max_tokens or (info and info.get("max_output_tokens")) or _MAX_TOKENS
    names = (deployment.id, deployment.model_name, deployment.model)
    listed = next((config.prices[name] for name in names if name in config.prices), None)
    given = deployment.price or listed
    if given is None and info is not None:
        given = _listed(info)
    if given is None:
        raise ConfigurationError(
            f"the price of {deployment.id!r} is unknown; add it to `prices` (0 if it is free)"
        )
    most = deployment.max_input_tokens or (info and info.get("max_input_tokens")) or None
    return Tariff(given, int(longest), most)


def _listed(info: dict[str, Any]) -> Price | None:
    sent, received = _dearest(info, "input_cost_per_token"), _dearest(info, "output_cost_per_token")
    if sent is None or received is None:
        return None
    cached = _dearest(info, "cache_read_input_token_cost")
    return Price(
        input=sent * _MILLION,
        cached=None if cached is None else cached * _MILLION,
        output=received * _MILLION,
    )


def _dearest(info: dict[str, Any], name: str) -> float | None:
    """Return the highest price, since some models charge more for long prompts."""
    if info.get(name) is None:
        return None
    tiers = (key for key in info if key.startswith(f"{name}_above_") and key.endswith("_tokens"))
    return max(float(info[key] or 0) for key in (name, *tiers))
