"""What a caller asks of the router, beside the message itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from a2a_adapters import Data, InvalidInputError

if TYPE_CHECKING:
    from a2a_adapters import AgentRequest, Part

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
    """Tell whether a part is for the router: data that holds a choice."""
    if not isinstance(part, Data) or not isinstance(part.value, dict):
        return False
    return not Choice.model_fields.keys().isdisjoint(part.value)


def read_choice(request: AgentRequest) -> Choice:
    """Return what the message's metadata asks, or a data part of it.

    Raises:
        InvalidInputError: Something has a wrong type.
    """
    asked = {key: value for key, value in request.metadata.items() if key in Choice.model_fields}
    for part in request.parts:
        if isinstance(part, Data) and isinstance(part.value, dict):
            asked |= {k: v for k, v in part.value.items() if k in Choice.model_fields}
    try:
        return Choice.model_validate(asked)
    except ValidationError as error:
        raise InvalidInputError.of(error) from None
