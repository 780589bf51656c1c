"""Selection and order of the deployments for a message."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from a2a_adapters import InvalidInputError
from a2a_adapters_router.calls import Usage
from a2a_adapters_router.choice import AUTO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from a2a_adapters_router.choice import Choice
    from a2a_adapters_router.config import RouterConfig, Strategy
    from a2a_adapters_router.deployment import Deployment
    from a2a_adapters_router.ledger import Ledger
    from a2a_adapters_router.pricing import Tariff

_REMEMBERED = 600.0
"""Lifetime of a measurement in seconds; deployments without one are tried first."""

_TYPICAL = Usage(input=1000, output=1000)
"""Typical usage, for comparing prices."""

_EVERY = "*"

_DEFAULT = "default"
"""Tag of the deployments for requests without tags."""

_WHY = {
    "order": "the first",
    "weighted": "drawn by weight",
    "least-busy": "the least busy",
    "cheapest": "the cheapest",
    "fastest": "the fastest",
    "most-quota": "the one with most quota left",
    "quality": "the best",
}


@dataclass(frozen=True, slots=True)
class Route:
    """The candidate deployments for a message.

    Attributes:
        groups: Groups of deployments in route order; at least one deployment.
        strategy: Orders the deployments.
        rule: Why the first deployment comes first, as a phrase.
    """

    groups: Sequence[Sequence[Deployment]]
    strategy: Strategy
    rule: str


@dataclass(slots=True)
class _Measured:
    seconds: float
    at: float


@dataclass(slots=True)
class Pace:
    """Running calls and recent times to the first token by deployment.

    Attributes:
        running: Number of running calls by deployment.
    """

    running: Counter[str] = field(default_factory=Counter)
    _warm: set[str] = field(default_factory=set)
    _measured: dict[str, _Measured] = field(default_factory=dict)

    def seconds(self, name: str) -> float:
        """Return the recent time to the first token in seconds; 0 without a measurement."""
        found = self._measured.get(name)
        is_recent = found is not None and time.monotonic() - found.at < _REMEMBERED
        return found.seconds if found is not None and is_recent else 0.0

    def note(self, name: str, seconds: float) -> None:
        """Record a time to the first token, except for the first call, which imports libraries."""
        if name in self._warm:
            self._add(name, seconds)
        self._warm.add(name)

    def fail(self, name: str, seconds: float) -> None:
        """Record a failed call as a time in seconds."""
        self._add(name, seconds)

    def _add(self, name: str, seconds: float) -> None:
        before = self.seconds(name) or seconds
        self._measured[name] = _Measured(0.7 * before + 0.3 * seconds, time.monotonic())


class Routes:
    """Finds the route of a message.

    litellm's strategies know only models and the observations of one process; these
    also know agents and the spending of all processes.

    Args:
        config: Settings of the router.
        tariffs: Tariffs by deployment.
        ledger: Accounts of usage.
        pace: Recent latencies.
    """

    def __init__(
        self, config: RouterConfig, tariffs: Mapping[str, Tariff], ledger: Ledger, pace: Pace
    ) -> None:
        self._config = config
        self._tariffs = tariffs
        self._ledger = ledger
        self._pace = pace

    def open_to(self, owner: str) -> Sequence[Deployment]:
        """Return the deployments that a caller may use."""
        config = self._config
        if not config.access:
            return config.deployments
        names: set[str] = set()
        for rule in config.access:
            is_member = rule.team is not None and owner in config.teams[rule.team]
            if is_member or rule.owner in (_EVERY, owner):
                names.update(config.aliases.get(name, name) for name in rule.models)
        if _EVERY in names:
            return config.deployments
        return [d for d in config.deployments if d.id in names or d.model_name in names]

    def find(self, choice: Choice, owner: str) -> Route:
        """Return the route by model, else combo, else role, else the active combo.

        Raises:
            InvalidInputError: The model, combo, role or tag is unknown, or the caller may not
                use it.
        """
        config, strategy = self._config, self._config.strategy
        combo = choice.combo or self._of_role(choice.role) or config.active
        allowed = {each.id for each in self.open_to(owner)}
        if choice.model != AUTO and choice.combo is None:
            if allowed.isdisjoint(d.id for d in self._named(choice.model) or config.deployments):
                raise InvalidInputError(f"this caller may not use the model {choice.model!r}")
            names: Sequence[str] = self._with_fallbacks(choice.model)
            about = repr(choice.model)
        elif combo is None:
            names, about = list(dict.fromkeys(d.model_name for d in config.deployments)), "all"
        elif combo not in config.combos:
            raise InvalidInputError(f"unknown combo {combo!r}; {self._offer()}")
        else:
            names, about = config.combos[combo].route, f"the combo {combo!r}"
            strategy = config.combos[combo].strategy or strategy
        found = [[d for d in group if d.id in allowed] for group in self._groups(names)]
        if not any(found):
            raise InvalidInputError("this caller may not use any model of the route")
        groups = self._tagged(found, choice.tags)
        return Route(groups, strategy, f"{_WHY[strategy]} of {about}")

    def _with_fallbacks(self, model: str) -> list[str]:
        if not self._named(model):
            raise InvalidInputError(f"unknown model {model!r}; {self._offer()}")
        fallbacks = self._config.fallbacks
        group = self._config.aliases.get(model, model)
        return [model, *fallbacks.get(model, fallbacks.get(group, [])), *fallbacks.get("*", [])]

    def _groups(self, names: Sequence[str]) -> list[list[Deployment]]:
        seen: set[str] = set()
        groups = []
        for name in names:
            groups.append([d for d in self._named(name) if d.id not in seen])
            seen.update(d.id for d in groups[-1])
        return groups

    def _tagged(
        self, groups: Sequence[Sequence[Deployment]], tags: Sequence[str]
    ) -> list[list[Deployment]]:
        """Return the deployments with one of the tags; without tags, the default ones.

        Raises:
            InvalidInputError: No deployment has a matching tag.
        """
        wanted = [
            [[d for d in group if not {*each}.isdisjoint(d.tags)] for group in groups]
            for each in (tags, [_DEFAULT])
        ]
        found = next((each for each in wanted if any(each)), None)
        if found is None and tags:
            raise InvalidInputError(f"no model of the route has one of the tags {', '.join(tags)}")
        return [group for group in found or map(list, groups) if group]

    def _of_role(self, role: str | None) -> str | None:
        if role is None:
            return None
        if self._config.roles and role not in self._config.roles:
            known = ", ".join(self._config.roles)
            raise InvalidInputError(f"unknown role {role!r}; known roles: {known}")
        return self._config.roles.get(role)

    def _named(self, name: str) -> list[Deployment]:
        names = (name, self._config.aliases.get(name))
        return [d for d in self._config.deployments if d.id in names or d.model_name in names]

    def _offer(self) -> str:
        models = dict.fromkeys(d.model_name for d in self._config.deployments)
        combos = "".join(f", combo {name}" for name in self._config.combos)
        return f"available: {', '.join(models)}{combos}"

    async def ordered(self, route: Route, owner: str) -> Sequence[Deployment]:
        """Return the deployments of a route in the order to try now."""
        found = [each for group in route.groups for each in _shuffled(group)]
        if route.strategy == "weighted":
            return _shuffled(found)
        if route.strategy == "most-quota":
            await self._ledger.refresh(owner)
        return sorted(found, key=lambda d: self._sort_key(route.strategy, d, owner))

    def _sort_key(self, strategy: Strategy, deployment: Deployment, owner: str) -> float:
        """Return the sort key of a deployment; equal ones keep their order."""
        match strategy:
            case "least-busy":
                return self._pace.running[deployment.id]
            case "cheapest":
                return self._tariffs[deployment.id].cost(_TYPICAL)
            case "fastest":
                return self._pace.seconds(deployment.id)
            case "most-quota":
                return -self._share(deployment, owner)
            case "quality":
                return -(deployment.quality or 0)
            case _:
                return 0

    def _share(self, deployment: Deployment, owner: str) -> float:
        return min((left.share for left in self._ledger.left(deployment, owner)), default=1.0)


def _shuffled(deployments: Iterable[Deployment]) -> list[Deployment]:
    """Sort deployments by `order`, and draw equal ones by weight, like litellm."""
    ranked = sorted(deployments, key=_rank)
    found = []
    for _, same in groupby(ranked, key=_rank):
        group = list(same)
        weights = _weights(group)
        # Drawing without replacement (Efraimidis and Spirakis, 2006).
        keys = {d.id: random.random() ** (1 / w) if w else -1.0 for d, w in weights}  # noqa: S311
        found += sorted(group, key=lambda d: -keys[d.id])
    return found


def _rank(deployment: Deployment) -> float:
    return float("inf") if deployment.order is None else deployment.order


def _weights(group: Sequence[Deployment]) -> list[tuple[Deployment, float]]:
    listed = [(each.weight, each.rpm, each.tpm) for each in group]
    for weights in zip(*listed, strict=True):
        if any(weights):
            return [(each, w or 0) for each, w in zip(group, weights, strict=True)]
    return [(each, 1) for each in group]
