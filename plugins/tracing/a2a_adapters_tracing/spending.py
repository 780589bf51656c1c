"""Tokens and money in the metadata of tasks, which is untrusted if a remote agent sent it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from a2a_adapters import TokenUsage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_adapters.plugin import JSON

BILL = "a2a_adapters.bill"
"""Key in a task's metadata: the usage of its models, and the tasks of other agents it needed."""

UNKNOWN = "unknown"
"""Stands for the models of an agent that does not name them."""

_MOST_TOKENS = 10**15
_MOST_MODELS = 50
_NAME_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Spending:
    """What a task or a model has used.

    Attributes:
        usage: The tokens; None if they are not reported.
        usd: The cost in US dollars; None if it is not reported.
    """

    usage: TokenUsage | None = None
    usd: float | None = None

    def __add__(self, other: Spending) -> Spending:
        usages = [each.usage for each in (self, other) if each.usage is not None]
        costs = [each.usd for each in (self, other) if each.usd is not None]
        return Spending(
            sum(usages[1:], usages[0]) if usages else None,
            math.fsum(costs) if costs else None,
        )

    def __bool__(self) -> bool:
        return bool(self.usd) or (self.usage is not None and self.usage != TokenUsage())

    def as_json(self) -> dict[str, JSON]:
        """Return the spending as JSON, without unreported values."""
        money: dict[str, JSON] = {} if self.usd is None else {"usd": round(self.usd, 9)}
        return {**(asdict(self.usage) if self.usage else {}), **money}


Models = dict[str, Spending]
"""Spending by model."""


@dataclass(frozen=True, slots=True)
class Account:
    """What a task has used, as its metadata reports it.

    Attributes:
        total: The sum.
        models: Spending by model, as far as the agent names them.
    """

    total: Spending = field(default_factory=Spending)
    models: Models = field(default_factory=dict)


def account_of(metadata: Mapping[str, Any]) -> Account:
    """Return the usage that a task's metadata reports; invalid values count as not reported."""
    total = Spending(_tokens(metadata.get("usage")), _dollars(metadata))
    bill = metadata.get(BILL)
    models = models_of(bill.get("models")) if isinstance(bill, Mapping) else {}
    model = metadata.get("model")
    if not models and isinstance(model, str) and model and total:
        models = {model[:_NAME_LENGTH]: total}
    return Account(total, models)


def spending_of(value: object) -> Spending:
    """Return the inverse of `Spending.as_json`."""
    return Spending(
        _tokens(value), _amount(value.get("usd")) if isinstance(value, Mapping) else None
    )


def models_of(value: object) -> Models:
    """Return the spending by model in a bill."""
    if not isinstance(value, Mapping):
        return {}
    first = list(value.items())[:_MOST_MODELS]
    return {str(name)[:_NAME_LENGTH]: spent for name, each in first if (spent := spending_of(each))}


def sum_of(spendings: Iterable[Spending]) -> Spending:
    """Return the sum of spendings."""
    return sum(spendings, Spending())


def merged(several: Sequence[Models]) -> Models:
    """Return the sum by model."""
    names = sorted({name for models in several for name in models})
    return {name: sum_of(models.get(name, Spending()) for models in several) for name in names}


def rest_of(total: Spending, parts: Spending) -> Spending:
    """Return the part of a total that its components do not explain."""
    whole, known = total.usage or TokenUsage(), parts.usage or TokenUsage()
    given = max(0, whole.input_tokens - known.input_tokens)
    made = max(0, whole.output_tokens - known.output_tokens)
    both = max(0, whole.total_tokens - known.total_tokens)
    usd = None if total.usd is None else round(max(0.0, total.usd - (parts.usd or 0.0)), 9)
    return Spending(TokenUsage(given, made, both), usd or None)


def _tokens(value: object) -> TokenUsage | None:
    usage = TokenUsage.of({"usage": value})  # type: ignore[dict-item]
    if usage is None or not all(map(_is_count, asdict(usage).values())):
        return None
    return usage


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST_TOKENS


def _dollars(metadata: Mapping[str, Any]) -> float | None:
    """Return the cost in a task's metadata, under the keys that routers and coding agents use."""
    match metadata:
        case {"cost_envelope": {"actual": amount, **rest}}:
            pass
        case {"context_window": {"cost": {"amount": amount, **rest}}}:
            pass
        case _:
            return None
    return _amount(amount) if rest.get("currency", "USD") == "USD" else None


def _amount(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < _MOST_TOKENS:  # type: ignore[operator]
        return None
    return float(value)  # type: ignore[arg-type]
