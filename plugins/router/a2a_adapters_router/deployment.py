"""A deployment and its price, as a router's file says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, PositiveInt, field_validator, model_validator

from a2a_adapters_router.litellm_file import translated_deployment
from a2a_adapters_router.secrets import FROM_ENVIRONMENT, written_secret

__all__ = ["Amount", "Deployment", "More", "Price", "Retries"]

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
More = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Retries = Annotated[int, Field(ge=0, le=10)]


class Price(BaseModel, extra="forbid", frozen=True):
    """What a deployment costs, in USD.

    Attributes:
        input: Per million tokens that are sent.
        cached: Per million of them that the provider had in its cache; `input` if not given.
        output: Per million tokens that come back.
        request: Per call.
    """

    input: Amount = 0
    cached: Amount | None = None
    output: Amount = 0
    request: Amount = 0


class Deployment(BaseModel, extra="forbid", frozen=True):
    """A model at a provider, or an A2A agent; as in litellm's `model_list`.

    `litellm_params` and `model_info` may hold the router's settings as well, under litellm's names.

    Attributes:
        model_name: What callers call it; several with one name are a group.
        id: Its own name, by default that of the group, numbered from the second on.
        litellm_params: How litellm calls it: `model`, `api_base`, `api_key` and its other keys.
        agent: In place of `litellm_params`, an agent's address.
        token: The agent's bearer token.
        metadata: Sent to the agent with each message.
        provider: Who is paid; by default what litellm's model begins with, or "a2a".
        base_model: The model of litellm's price list, where `litellm_params` has another name.
        price: In USD; by default that of `prices`, else litellm's.
        max_tokens: The longest answer; by default what litellm knows of the model.
        max_input_tokens: The longest conversation; by default what litellm knows of the model.
        image_tokens: What an image counts for before it is billed; some models bill more than
            the default, such as gpt-4o-mini with up to 37,000.
        supports: What the model takes, such as `vision` or `function_calling`, where litellm
            does not know.
        weight: Its share of the calls of its group; by default `rpm`, else `tpm`, else the same
            for all. Where others have a weight and this has none, it is only a fallback.
        order: Deployments of a group with a higher one are fallbacks for those with a lower.
        tags: Requests may ask for a tag. Those that ask for none go to the ones tagged "default",
            if there are any.
        rpm: Requests per minute.
        tpm: Tokens per minute.
        quality: For the strategy `quality`: the higher, the better.
        retries: Overrides the router's.
        cooldown_seconds: Overrides the router's.
        timeout_seconds: Overrides the router's.
    """

    model_name: str = Field(min_length=1)
    id: str = ""
    litellm_params: dict[str, Any] | None = None
    agent: str | None = None
    token: str | None = None
    metadata: dict[str, Any] = {}
    provider: str = ""
    base_model: str = ""
    price: Price | None = None
    max_tokens: PositiveInt | None = None
    max_input_tokens: PositiveInt | None = None
    image_tokens: PositiveInt = 2000
    supports: dict[str, bool] = {}
    weight: Amount | None = None
    order: int | None = None
    tags: list[str] = []
    rpm: PositiveInt | None = None
    tpm: PositiveInt | None = None
    quality: float | None = None
    retries: Retries | None = None
    cooldown_seconds: Amount | None = None
    timeout_seconds: More | None = None

    @model_validator(mode="before")
    @classmethod
    def _as_in_litellm(cls, settings: Any) -> Any:
        return translated_deployment(settings) if isinstance(settings, dict) else settings

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.litellm_params is None) == (self.agent is None):
            raise ValueError("give either litellm_params or agent")
        if self.agent is None and (self.token is not None or self.metadata):
            raise ValueError("token and metadata are for agents")
        params = self.litellm_params
        if params is not None and not isinstance(params.get("model"), str):
            raise ValueError("litellm_params needs a model, as in openai/gpt-4o-mini")
        if "*" in self.model_name or "*" in self.model:
            raise ValueError("names with * are not supported: list the models")
        return self

    @field_validator("litellm_params")
    @classmethod
    def _keys_from_environment(cls, params: dict[str, Any] | None) -> dict[str, Any] | None:
        if name := written_secret("", params):
            raise ValueError(f"{name} is a secret: write {FROM_ENVIRONMENT}NAME")
        return params

    @field_validator("token")
    @classmethod
    def _token_from_environment(cls, token: str | None) -> str | None:
        if token is not None and not token.startswith(FROM_ENVIRONMENT):
            raise ValueError(f"it is a secret: write {FROM_ENVIRONMENT}NAME")
        return token

    @property
    def model(self) -> str:
        """What litellm calls the model; "" for an agent."""
        return str(self.litellm_params["model"]) if self.litellm_params else ""

    def file_tokens(self, media: Mapping[str, Sequence[int]]) -> int:
        """Return what files may be billed for: images as said, others a token for each byte."""
        others = sum(sum(sizes) for need, sizes in media.items() if need != "vision")
        return self.image_tokens * len(media.get("vision", ())) + others

    @property
    def priced_as(self) -> str:
        """The name in litellm's lists; "" for an agent."""
        return self.base_model or self.model

    @property
    def paid_to(self) -> str:
        """Who is paid."""
        return self.provider or (self.model.partition("/")[0] if self.model else "a2a")
