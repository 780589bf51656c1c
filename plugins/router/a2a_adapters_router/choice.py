"""Routing parameters in a caller's message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError

from a2a_adapters import Data, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters import AgentRequest, Part
    from a2a_adapters.plugin import JSON

AUTO = "auto"
SMART_ROUTING: Final = "smart-routing"
QUOTA_MANAGEMENT: Final = "quota-management"

_ASKED = ("skill", "model", "combo", "budget", "role")
"""A data part with at least one of these keys is for the router."""

_PARAMS = frozenset(
    {
        "temperature",
        "top_p",
        "stop",
        "seed",
        "frequency_penalty",
        "presence_penalty",
        "logit_bias",
        "reasoning_effort",
        "response_format",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
    }
)
"""Parameters of OpenAI's chat completions passed to the model."""

_REFUSED = frozenset(
    {
        "n",
        "functions",
        "function_call",
        "logprobs",
        "top_logprobs",
        "modalities",
        "audio",
        "prediction",
        "service_tier",
        "web_search_options",
    }
)
"""Unsupported parameters: their results do not fit into answers, or their price is unknown."""

SkillId: TypeAlias = Literal["smart-routing", "quota-management"]


class Choice(BaseModel):
    """Routing parameters, named as in OmniRoute's documentation.

    Attributes:
        skill: The requested skill.
        model: A deployment, a group of them, or "auto".
        combo: A route in the file.
        budget: Maximum cost of the answer in USD.
        role: Purpose of the message, which may have its own route.
        tags: Limits the route to deployments with one of these tags.
        max_tokens: Maximum length of the answer in tokens.
        cache: Whether to accept a cached answer.

    The other attributes are parameters of OpenAI's chat completions, for the model.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    skill: SkillId = SMART_ROUTING
    model: Annotated[str, Field(min_length=1)] = AUTO
    combo: str | None = None
    budget: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    role: str | None = None
    tags: list[str] = []
    max_tokens: PositiveInt | None = None
    cache: bool = True
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    reasoning_effort: str | None = None
    response_format: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None

    @property
    def params(self) -> dict[str, Any]:
        """The parameters for the model."""
        return self.model_dump(include=set(_PARAMS), exclude_none=True)


def is_choice(part: Part) -> bool:
    """Return whether a data part holds routing parameters and nothing for a model."""
    return bool(_asked_in(part))


def _asked_in(part: Part) -> Mapping[str, JSON]:
    if not isinstance(part, Data) or not isinstance(part.value, dict):
        return {}
    keys = part.value.keys()
    is_choice = keys <= Choice.model_fields.keys() and not keys.isdisjoint(_ASKED)
    return part.value if is_choice else {}


def read_choice(request: AgentRequest) -> Choice:
    """Return the routing parameters in the message's metadata or a data part.

    Raises:
        InvalidInputError: A parameter has the wrong type or is not supported.
    """
    given = dict(request.metadata)
    if refused := _REFUSED & given.keys():
        raise InvalidInputError(f"the router does not support {', '.join(sorted(refused))}")
    if "max_completion_tokens" in given:
        given["max_tokens"] = given["max_completion_tokens"]
    asked = {key: value for key, value in given.items() if key in Choice.model_fields}
    for part in request.parts:
        asked |= _asked_in(part)
    try:
        return Choice.model_validate(asked)
    except ValidationError as error:
        raise InvalidInputError.of(error) from None
