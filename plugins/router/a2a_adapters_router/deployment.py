"""Settings of a deployment and its price."""

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
    """Price of a deployment in USD.

    Attributes:
        input: Per million input tokens.
        cached: Per million input tokens in the provider's cache. Default: `input`.
        output: Per million output tokens.
        request: Per request.
    """

    input: Amount = 0
    cached: Amount | None = None
    output: Amount = 0
    request: Amount = 0


class Deployment(BaseModel, extra="forbid", frozen=True):
    """A model at a provider, or an A2A agent; as in litellm's `model_list`.

    `litellm_params` and `model_info` may contain router settings under litellm's names.

    Attributes:
        model_name: Name for callers; deployments with the same name form a group.
        id: Unique name. Default: that of the group, numbered from the second on.
        litellm_params: Parameters for litellm: `model`, `api_base`, `api_key` and others.
        agent: URL of an A2A agent, instead of `litellm_params`.
        token: Bearer token for the agent.
        metadata: Sent to the agent with each message.
        provider: The provider that is paid. Default: the prefix of litellm's model, or "a2a".
        base_model: Name in litellm's price list, if other than in `litellm_params`.
        price: Price in USD. Default: that in `prices`, else litellm's.
        max_tokens: Maximum length of an answer. Default: litellm's value.
        max_input_tokens: Maximum length of a conversation. Default: litellm's value.
        image_tokens: Tokens reserved for an image; some models bill more than
            the default, such as gpt-4o-mini with up to 37,000.
        supports: Capabilities of the model, such as `vision` or `function_calling`, where litellm
            does not know.
        weight: Its share of the group's calls. Default: `rpm`, else `tpm`, else equal
            shares. Without a weight among others with one, it is only a fallback.
        order: Deployments with a higher order are fallbacks for those with a lower one.
        tags: Tags that requests can ask for. Other requests go to deployments tagged "default",
            if there are any.
        rpm: Requests per minute.
        tpm: Tokens per minute.
        quality: Rank for the strategy `quality`; higher is better.
        retries: Overrides the router's setting.
        cooldown_seconds: Overrides the router's setting.
        timeout_seconds: Overrides the router's setting.
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
            raise ValueError("set either litellm_params or agent")
        if self.agent is None and (self.token is not None or self.metadata):
            raise ValueError("token and metadata are only for agents")
        params = self.litellm_params
        if params is not None and not isinstance(params.get("model"), str):
            raise ValueError("litellm_params needs a model such as openai/gpt-4o-mini")
        if "*" in self.model_name or "*" in self.model:
            raise ValueError("names with * are not supported; list the models")
        return self

    @field_validator("litellm_params")
    @classmethod
    def _keys_from_environment(cls, params: dict[str, Any] | None) -> dict[str, Any] | None:
        if name := written_secret("", params):
            raise ValueError(f"{name} is a secret; write {FROM_ENVIRONMENT}NAME")
        return params

    @field_validator("token")
    @classmethod
    def _token_from_environment(cls, token: str | None) -> str | None:
        if token is not None and not token.startswith(FROM_ENVIRONMENT):
            raise ValueError(f"the token is a secret; write {FROM_ENVIRONMENT}NAME")
        return token

    @property
    def model(self) -> str:
        """The model's name in litellm; "" for an agent."""
        return str(self.litellm_params["model"]) if self.litellm_params else ""

    def file_tokens(self, media: Mapping[str, Sequence[int]]) -> int:
        """Return the maximum tokens billed for files: `image_tokens` per image, or one per byte."""
        others = sum(sum(sizes) for need, sizes in media.items() if need != "vision")
        return self.image_tokens * len(media.get("vision", ())) + others

    @property
    def priced_as(self) -> str:
        """Name in litellm's price list; "" for an agent."""
        return self.base_model or self.model

    @property
    def paid_to(self) -> str:
        """The provider that is paid."""
        return self.provider or (self.model.partition("/")[0] if self.model else "a2a")
