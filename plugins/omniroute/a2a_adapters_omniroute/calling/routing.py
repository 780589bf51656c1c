"""How a gateway is to choose the model of a call."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters import JSON

__all__ = ["QUOTA_MANAGEMENT", "SMART_ROUTING", "Routing"]

SMART_ROUTING = "smart-routing"
"""The skill that sends messages to the best model."""

QUOTA_MANAGEMENT = "quota-management"
"""The skill that knows what is left of the quotas."""


class Choices(Protocol):
    """What a model of a framework has as attributes."""

    model: str
    combo: str | None
    budget: float | None
    role: str | None
    combo_as_model: bool
    skill: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """The metadata of the skill `smart-routing`.

    OmniRoute 3.7.9 does nothing with `combo`, `budget` and `role`, whatever its description says.
    A combo works there as the name of the model: that is what `combo_as_model` sends.

    Attributes:
        model: The model's name; "auto" lets the gateway choose.
        combo: A route that is configured in the gateway, by its name.
        budget: What the call may cost, in USD.
        role: What the call is for: coding, review, planning, analysis, debugging, documentation.
        combo_as_model: Whether the combo is sent in place of the model as well.
    """

    model: str = "auto"
    combo: str | None = None
    budget: float | None = None
    role: str | None = None
    combo_as_model: bool = False

    def metadata(self) -> dict[str, JSON]:
        """Return the metadata as it is sent."""
        model = self.combo if self.combo and self.combo_as_model else self.model
        sent = {"model": model, "combo": self.combo, "budget": self.budget, "role": self.role}
        return {key: value for key, value in sent.items() if value is not None}


def asked(choices: Choices, options: Mapping[str, Any] | None = None) -> dict[str, JSON]:
    """Return the metadata of a call, whose options go before what its model chooses."""
    given = options or {}
    names = (each.name for each in fields(Routing))
    routing = Routing(**{name: given.get(name, getattr(choices, name)) for name in names})
    return {"skill": given.get("skill", choices.skill), **routing.metadata()}
