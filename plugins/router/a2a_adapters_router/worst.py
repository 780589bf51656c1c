"""How long an answer may be, and what a call may cost then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_adapters_router.calls import Usage
from a2a_adapters_router.page import Amount

if TYPE_CHECKING:
    from a2a_adapters_router.ledger import Rest
    from a2a_adapters_router.pricing import Tariff


@dataclass(slots=True)
class Worst:
    """What a call may use at worst, if its answer is as long as all limits allow.

    Attributes:
        tariff: What the deployment costs.
        sent: The tokens that are sent.
        budget: The USD that the caller's budget has left; None for any sum.
        full: The longest answer that the deployment gives and the caller wants, in tokens.
        least: The shortest answer that is worth its price, in tokens.
        longest: How long an answer may be by what was left when it was last looked at, in tokens.
        by: What made that shorter than `full`: "budget", "quota", or "" for nothing.
    """

    tariff: Tariff
    sent: int
    budget: float | None
    full: int
    least: int
    longest: int = 0
    by: str = ""

    def fit(self, rest: Rest) -> Amount | None:
        """Return what a call may use with so much left; None if it cannot be made for that."""
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
        """What the shortest answer costs, in USD."""
        return self.tariff.cost(Usage(self.sent, min(self.least, self.full)))
