"""Settings of a deployment, its price, and references to secrets in environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, PositiveInt, field_validator, model_validator

from a2a_adapters import ConfigurationError
from a2a_adapters_router.litellm_file import translated_deployment

__all__ = ["Amount", "Deployment", "More", "Price", "Retries"]

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
More = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Retries = Annotated[int, Field(ge=0, le=10)]

FROM_ENVIRONMENT = "os.environ/"
"""Prefix of references to environment variables, as in litellm's files."""

_SECRETS = ("key", "token", "secret", "password", "credentials", "authorization")
"""Suffixes of names of secrets."""


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


def resolved(value: Any) -> Any:
    """Return a setting with references replaced by the variables' values.

    Raises:
        ConfigurationError: A variable is not set.
    """
    match value:
        case dict():
            return {key: resolved(each) for key, each in value.items()}
        case list():
            return [resolved(each) for each in value]
        case str() if value.startswith(FROM_ENVIRONMENT):
            name = value.removeprefix(FROM_ENVIRONMENT)
            if not (found := os.environ.get(name)):
                raise ConfigurationError(f"the environment variable {name} is not set")
            return found
        case _:
            return value


def written_secret(name: str, value: object) -> str | None:
    """Return the name of a literal secret in a setting; None if it has none."""
    match value:
        case dict():
            return next(filter(None, (written_secret(str(k), v) for k, v in value.items())), None)
        case list():
            return next(filter(None, (written_secret(name, each) for each in value)), None)
        case _:
            is_secret = name.lower().endswith(_SECRETS)
            return name if is_secret and not str(value).startswith(FROM_ENVIRONMENT) else None
