"""What a caller asks of the router, beside the message itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from a2a_adapters import Data, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters import JSON, AgentRequest, Part

AUTO = "auto"
SMART_ROUTING: Final = "smart-routing"
QUOTA_MANAGEMENT: Final = "quota-management"

SkillId: TypeAlias = Literal["smart-routing", "quota-management"]


class Choice(BaseModel):
    """What is asked, in the words of OmniRoute's description.

    Attributes:
        skill: What is wanted.
        model: A deployment, a group of them, or "auto".
        combo: A route of the file.
        budget: What the answer may cost, in USD.
        role: What it is for, which may have a route of its own.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    skill: SkillId = SMART_ROUTING
    model: Annotated[str, Field(min_length=1)] = AUTO
    combo: str | None = None
    budget: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    role: str | None = None


def is_choice(part: Part) -> bool:
    """Tell whether a part is for the router: data that holds a choice, and nothing for a model."""
    return bool(_asked_in(part))


def _asked_in(part: Part) -> Mapping[str, JSON]:
    if not isinstance(part, Data) or not isinstance(part.value, dict):
        return {}
    return part.value if part.value.keys() <= Choice.model_fields.keys() else {}


def read_choice(request: AgentRequest) -> Choice:
    """Return what the message's metadata asks, or a data part of it.

    Raises:
        InvalidInputError: Something has a wrong type.
    """
    asked = {key: value for key, value in request.metadata.items() if key in Choice.model_fields}
    for part in request.parts:
        asked |= _asked_in(part)
    try:
        return Choice.model_validate(asked)
    except ValidationError as error:
        raise InvalidInputError.of(error) from None
