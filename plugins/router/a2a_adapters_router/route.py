"""Which deployments are tried for a message, in which order, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_adapters import InvalidInputError
from a2a_adapters_router.calls import Usage
from a2a_adapters_router.choice import AUTO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters_router.choice import Choice
    from a2a_adapters_router.config import Deployment, RouterConfig
    from a2a_adapters_router.ledger import Ledger
    from a2a_adapters_router.pricing import Tariff

_TYPICAL = Usage(input=1000, output=1000)
"""What prices are compared by."""

_WHY = {
    "order": "the first",
    "cheapest": "the cheapest",
    "fastest": "the fastest",
    "most-quota": "the one with most quota left",
}


@dataclass(frozen=True, slots=True)
class Route:
    """The deployments that may answer a message.

    Attributes:
        deployments: At least one.
        rule: Why the first of them to be tried is the first, as part of a sentence.
    """

    deployments: Sequence[Deployment]
    rule: str


class Routes:
    """Finds the route of a message.

    Args:
        config: The router's.
        tariffs: What its deployments cost.
        ledger: What was used of them.
    """

    def __init__(self, config: RouterConfig, tariffs: Mapping[str, Tariff], ledger: Ledger) -> None:
        self._config = config
        self._tariffs = tariffs
        self._ledger = ledger

    def find(self, choice: Choice) -> Route:
        """Return the route of what is asked: by model, else combo, else role, else the active one.

        Raises:
            InvalidInputError: There is no such model, combo or role.
        """
        why = _WHY[self._config.strategy]
        if choice.model != AUTO and choice.combo is None:
            found = self._named(choice.model)
            if not found:
                raise InvalidInputError(f"there is no model {choice.model!r}; {self._offer()}")
            return Route(found, f"{why} of {choice.model!r}")
        combo = choice.combo or self._of_role(choice.role) or self._config.active
        if combo is None:
            return Route(self._config.deployments, f"{why} of all")
        if combo not in self._config.combos:
            raise InvalidInputError(f"there is no combo {combo!r}; {self._offer()}")
        names = self._config.combos[combo]
        found = list({d.id: d for name in names for d in self._named(name)}.values())
        return Route(found, f"{why} of the combo {combo!r}")

    def _of_role(self, role: str | None) -> str | None:
        if role is None:
            return None
        if self._config.roles and role not in self._config.roles:
            known = ", ".join(self._config.roles)
            raise InvalidInputError(f"there is no role {role!r}; there are {known}")
        return self._config.roles.get(role)

    def _named(self, name: str) -> list[Deployment]:
        return [d for d in self._config.deployments if name in (d.id, d.model_name)]

    def _offer(self) -> str:
        models = dict.fromkeys(d.model_name for d in self._config.deployments)
        combos = "".join(f", combo {name}" for name in self._config.combos)
        return f"there are {', '.join(models)}{combos}"

    async def ordered(self, route: Route, owner: str) -> Sequence[Deployment]:
        """Return the deployments of a route in the order in which they are tried now."""
        found = route.deployments
        match self._config.strategy:
            case "cheapest":
                return sorted(found, key=lambda d: self._tariffs[d.id].cost(_TYPICAL))
            case "fastest":
                return sorted(found, key=self._ledger.first_word)
            case "most-quota":
                await self._ledger.refresh(owner)
                return sorted(found, key=lambda d: -self._share(d, owner))
            case _:
                return found

    def _share(self, deployment: Deployment, owner: str) -> float:
        return min((left.share for left in self._ledger.left(deployment, owner)), default=1.0)
