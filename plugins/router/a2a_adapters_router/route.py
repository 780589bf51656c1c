"""Which deployments are tried for a message, in which order, and why."""

from __future__ import annotations

import random
from dataclasses import dataclass
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
    from a2a_adapters_router.pace import Pace
    from a2a_adapters_router.pricing import Tariff

_TYPICAL = Usage(input=1000, output=1000)
"""What prices are compared by."""

_EVERY = "*"

_DEFAULT = "default"
"""The tag of deployments for requests that ask for none."""

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
    """The deployments that may answer a message.

    Attributes:
        groups: Those that share calls, in the order of the route: at least one deployment.
        strategy: What decides between them.
        rule: Why the first of them to be tried is the first, as part of a sentence.
    """

    groups: Sequence[Sequence[Deployment]]
    strategy: Strategy
    rule: str


class Routes:
    """Finds the route of a message.

    litellm's strategies know models only, and what the process at hand has seen of them; those
    here know agents as well, and what all processes have spent.

    Args:
        config: The router's.
        tariffs: What its deployments cost.
        ledger: What was used of them.
        pace: How they did lately.
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
        """Return the route of what is asked: by model, else combo, else role, else the active one.

        Raises:
            InvalidInputError: There is no such model, combo, role or tag, or the caller may not
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
            raise InvalidInputError(f"there is no combo {combo!r}; {self._offer()}")
        else:
            names, about = config.combos[combo].route, f"the combo {combo!r}"
            strategy = config.combos[combo].strategy or strategy
        found = [[d for d in group if d.id in allowed] for group in self._groups(names)]
        if not any(found):
            raise InvalidInputError("this caller may use no model of the route")
        groups = self._tagged(found, choice.tags)
        return Route(groups, strategy, f"{_WHY[strategy]} of {about}")

    def _with_fallbacks(self, model: str) -> list[str]:
        if not self._named(model):
            raise InvalidInputError(f"there is no model {model!r}; {self._offer()}")
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
        """Return those with one of the tags, else the default ones.

        Raises:
            InvalidInputError: There are none.
        """
        wanted = [
            [[d for d in group if not {*each}.isdisjoint(d.tags)] for group in groups]
            for each in (tags, [_DEFAULT])
        ]
        found = next((each for each in wanted if any(each)), None)
        if found is None and tags:
            raise InvalidInputError(f"no model of the route has a tag of {', '.join(tags)}")
        return [group for group in found or map(list, groups) if group]

    def _of_role(self, role: str | None) -> str | None:
        if role is None:
            return None
        if self._config.roles and role not in self._config.roles:
            known = ", ".join(self._config.roles)
            raise InvalidInputError(f"there is no role {role!r}; there are {known}")
        return self._config.roles.get(role)

    def _named(self, name: str) -> list[Deployment]:
        names = (name, self._config.aliases.get(name))
        return [d for d in self._config.deployments if d.id in names or d.model_name in names]

    def _offer(self) -> str:
        models = dict.fromkeys(d.model_name for d in self._config.deployments)
        combos = "".join(f", combo {name}" for name in self._config.combos)
        return f"there are {', '.join(models)}{combos}"

    async def ordered(self, route: Route, owner: str) -> Sequence[Deployment]:
        """Return the deployments of a route in the order in which they are tried now."""
        found = [each for group in route.groups for each in _shuffled(group)]
        if route.strategy == "weighted":
            return _shuffled(found)
        if route.strategy == "most-quota":
            await self._ledger.refresh(owner)
        return sorted(found, key=lambda d: self._place(route.strategy, d, owner))

    def _place(self, strategy: Strategy, deployment: Deployment, owner: str) -> float:
        """Return by what deployments are sorted, those that are equal as they were."""
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
    """Return deployments by their order, those of one order drawn by weight as litellm does."""
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
