"""The cards of targets that are not served, and the origins of their fields."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from a2a_adapters_server.sources import gather

from a2a_adapters.cli.targets import load_target
from a2a_adapters.contract.card import Card
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.serving.agents import as_executor
from a2a_adapters.serving.opening import opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters_server.settings import AgentSettings, ServerSettings

    from a2a_adapters.contract.card import AgentDescription

_DERIVED = "derived by the adapter"
_ON_TARGET = "Card of the target"


@dataclass(frozen=True, slots=True)
class Derived:
    """The description of a target, and the origin of each field that a card can set."""

    about: AgentDescription
    origins: dict[str, str]


async def derive(path: str) -> Derived:
    """Describe the target at `module:attribute` as `serve` would, without the settings' card."""
    return await _derived(path, Card(), str)


async def derive_from_settings(name: str) -> Derived:
    """Describe the target of the settings in this folder, or the one of this name.

    Raises:
        ConfigurationError: There is no such target, or a setting is invalid.
    """
    sources = gather({})
    settings = sources.settings()
    said: ServerSettings | AgentSettings
    if not name and settings.target is not None:
        prefix, said = "", settings
    elif name in settings.agents:
        prefix, said = f"agents.{name}.", settings.agents[name]
    else:
        known = ", ".join(settings.agents)
        hint = f"name one of the agents {known}" if known else "name an agent"
        raise ConfigurationError(f"{hint}, or module:attribute")
    card = Card(name=said.name, description=said.description).over(said.card.card())
    names = {"name", "description"}

    def origin(field: str) -> str:
        return sources.origin(f"{prefix}{field}" if field in names else f"{prefix}card.{field}")

    found = await _derived(str(said.target), card, origin)
    if name and found.origins["name"] == _DERIVED:
        found.origins["name"] = f"the table agents.{name}"  # as `serve` names several agents
    return found


async def _derived(path: str, card: Card, origin: Callable[[str], str]) -> Derived:
    async with opened(load_target(path)) as target:
        own = Card.of(target)
        about = card.over(own).applied(as_executor(target).adapter.describe())
    origins = {}
    for each in fields(Card):
        is_own = getattr(own, each.name) is not None
        below = _ON_TARGET if is_own else _DERIVED
        is_said = getattr(card, each.name) is not None
        origins[each.name] = origin(each.name) if is_said else below
    return Derived(about, origins)
