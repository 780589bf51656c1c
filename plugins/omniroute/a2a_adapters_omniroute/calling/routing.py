"""Parameters for a gateway's choice of the model."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters.plugin import JSON

__all__ = ["QUOTA_MANAGEMENT", "SMART_ROUTING", "Routing"]

SMART_ROUTING = "smart-routing"
"""The skill that sends messages to the best model."""

QUOTA_MANAGEMENT = "quota-management"
"""The skill that reports remaining quotas."""


class Choices(Protocol):
    """Attributes of a framework's model."""

    model: str
    combo: str | None
    budget: float | None
    role: str | None
    combo_as_model: bool
    skill: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """The metadata of the skill `smart-routing`.

    OmniRoute 3.7.9 ignores `combo`, `budget` and `role`, despite its documentation.
    It accepts a combo as the name of the model: see `combo_as_model`.

    Attributes:
        model: Name of the model; "auto" lets the gateway choose.
        combo: Name of a route configured in the gateway.
        budget: Maximum cost of the call in USD.
        role: Purpose of the call: coding, review, planning, analysis, debugging, documentation.
        combo_as_model: Whether to send the combo also as the model.
    """

    model: str = "auto"
    combo: str | None = None
    budget: float | None = None
    role: str | None = None
    combo_as_model: bool = False

    def metadata(self) -> dict[str, JSON]:
        """Return the metadata to send."""
        model = self.combo if self.combo and self.combo_as_model else self.model
        sent = {"model": model, "combo": self.combo, "budget": self.budget, "role": self.role}
        return {key: value for key, value in sent.items() if value is not None}


def asked(choices: Choices, options: Mapping[str, Any] | None = None) -> dict[str, JSON]:
    """Return the metadata of a call; its options override the model's attributes."""
    given = options or {}
    names = (each.name for each in fields(Routing))
    routing = Routing(**{name: given.get(name, getattr(choices, name)) for name in names})
    return {"skill": given.get("skill", choices.skill), **routing.metadata()}
