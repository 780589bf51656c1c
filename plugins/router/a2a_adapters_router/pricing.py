"""What calls cost: before them at most, after them in fact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a_adapters import ConfigurationError
from a2a_adapters_router.calls import Usage
from a2a_adapters_router.deployment import Price
from a2a_adapters_router.models import model_info

if TYPE_CHECKING:
    from a2a_adapters_router.config import RouterConfig
    from a2a_adapters_router.deployment import Deployment

_MILLION = 1_000_000
_MAX_TOKENS = 4096
"""How long an answer may be where neither the file nor litellm says so."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """What one deployment costs, and the longest answer it gives.

    Attributes:
        price: In USD.
        max_tokens: Of an answer.
        max_input_tokens: Of what is sent; None if that is not known.
    """

    price: Price
    max_tokens: int
    max_input_tokens: int | None = None

    def cost(self, usage: Usage) -> float:
        """Return what a call has cost, in USD."""
        price = self.price
        cached = min(usage.cached, usage.input)
        cached_price = price.input if price.cached is None else price.cached
        sent = (usage.input - cached) * price.input + cached * cached_price
        return price.request + (sent + usage.output * price.output) / _MILLION

    def affordable_tokens(self, input_tokens: int, usd: float) -> int:
        """Return how long an answer may be for that money, 0 if not even asking can be paid."""
        left = usd - self.cost(Usage(input_tokens))
        if left < 0:
            return 0
        if not self.price.output:
            return self.max_tokens
        # The least first: what is affordable may be more than any integer.
        return int(min(self.max_tokens, left * _MILLION / self.price.output + 1e-6))


def tariff_of(deployment: Deployment, config: RouterConfig) -> Tariff:
    """Return what a deployment costs: as the file says, else as litellm's price list does.

    Raises:
        ConfigurationError: Nobody knows.
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
            f"the price of {deployment.id!r} is not known: add it to `prices`, 0 if it is free"
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
    """Return the price of the longest prompts: some cost more per token beyond a length."""
    if info.get(name) is None:
        return None
    tiers = (key for key in info if key.startswith(f"{name}_above_") and key.endswith("_tokens"))
    return max(float(info[key] or 0) for key in (name, *tiers))
