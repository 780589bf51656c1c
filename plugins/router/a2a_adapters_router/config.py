"""What a router is made of, as its file says it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator, model_validator

from a2a_adapters_router.secrets import FROM_ENVIRONMENT, written_secret

__all__ = ["Deployment", "Price", "Quota", "RouterConfig"]

_OURS = frozenset({"max_tokens", "messages", "stream", "stream_options"})
"""What of a call of litellm the router itself says."""

_EVERY = "*"

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
More = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class UnknownNameError(ValueError):
    """The settings name something that there is not.

    Attributes:
        path: Where in the settings, from outside inwards.
    """

    def __init__(self, reason: str, *path: str | int) -> None:
        super().__init__(reason)
        self.path = path


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Price(_Strict):
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


class Deployment(_Strict):
    """A model at a provider, or an A2A agent.

    Attributes:
        model_name: What callers call it; several with one name are a group.
        id: Its own name, by default that of the group, numbered from the second on.
        litellm_params: How litellm calls it: `model`, `api_base`, `api_key` and its other keys.
        agent: In place of `litellm_params`, an agent's address.
        token: The agent's bearer token.
        metadata: What each message tells the agent beside its text.
        provider: Who is paid; by default what litellm's model begins with, or "a2a".
        max_tokens: How long an answer may be; by default what litellm knows of the model.
    """

    model_name: str = Field(min_length=1)
    id: str = ""
    litellm_params: dict[str, Any] | None = None
    agent: str | None = None
    token: str | None = None
    metadata: dict[str, Any] = {}
    provider: str = ""
    max_tokens: PositiveInt | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.litellm_params is None) == (self.agent is None):
            raise ValueError("give either litellm_params or agent")
        if self.agent is None and (self.token is not None or self.metadata):
            raise ValueError("token and metadata are for agents")
        params = self.litellm_params
        if params is not None and not isinstance(params.get("model"), str):
            raise ValueError("litellm_params needs a model, as in openai/gpt-4o-mini")
        return self

    @field_validator("litellm_params")
    @classmethod
    def _keys_from_environment(cls, params: dict[str, Any] | None) -> dict[str, Any] | None:
        if taken := _OURS & (params or {}).keys():
            raise ValueError(f"{min(taken)} is not set here; max_tokens goes beside litellm_params")
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

    @property
    def paid_to(self) -> str:
        """Who is paid."""
        return self.provider or (self.model.partition("/")[0] if self.model else "a2a")


class Quota(_Strict):
    """How much may go to a provider or deployment, or be used by a caller, in some time.

    Exactly one of `provider`, `deployment` and `owner` is given; "*" means each one for itself.
    At least one of `requests`, `tokens` and `usd` is.
    """

    provider: str | None = None
    deployment: str | None = None
    owner: str | None = None
    per: Literal["minute", "day", "month"]
    requests: PositiveInt | None = None
    tokens: PositiveInt | None = None
    usd: More | None = None

    @property
    def scope(self) -> Literal["owner", "provider", "deployment"]:
        """What kind of thing it is about."""
        if self.owner is not None:
            return "owner"
        return "provider" if self.provider is not None else "deployment"

    @model_validator(mode="after")
    def _is_about_one(self) -> Self:
        about = [self.provider, self.deployment, self.owner]
        if sum(each is not None for each in about) != 1:
            raise ValueError("give one of provider, deployment and owner")
        if self.requests is None and self.tokens is None and self.usd is None:
            raise ValueError("give requests, tokens or usd")
        return self


class RouterConfig(_Strict):
    """A router.

    Attributes:
        name: The agent's name.
        description: What it says of itself.
        deployments: The models and agents.
        combos: Routes by name: groups or deployments, in order.
        active: The combo for who asks for none; without it, all deployments in their order.
        roles: The combo of each role.
        prices: By deployment, group or litellm's model: what litellm's price list does not know.
        quotas: What may be used.
        strategy: In which order the deployments of a route are tried.
        retries: How often a deployment is tried again before the next one's turn.
        cooldown_seconds: How long one that failed is left alone.
        timeout_seconds: How long a model may be silent, or an agent may take.
        lease_seconds: How long what calls may cost at worst stays reserved after their process
            has died.
    """

    name: str = "router"
    description: str = "Routes messages to the best of several models and agents."
    deployments: list[Deployment] = Field(min_length=1)
    combos: dict[str, Annotated[list[str], Field(min_length=1)]] = {}
    active: str | None = None
    roles: dict[str, str] = {}
    prices: dict[str, Price] = {}
    quotas: list[Quota] = []
    strategy: Literal["order", "cheapest", "fastest", "most-quota"] = "order"
    retries: Annotated[int, Field(ge=0, le=10)] = 0
    cooldown_seconds: Amount = 30
    timeout_seconds: More = 60
    lease_seconds: More = 60

    @field_validator("deployments")
    @classmethod
    def _numbered(cls, deployments: list[Deployment]) -> list[Deployment]:
        """Give each deployment a name of its own."""
        taken = {deployment.id for deployment in deployments if deployment.id}
        if len(taken) < sum(bool(deployment.id) for deployment in deployments):
            raise ValueError("two deployments have the same id")
        named = []
        for deployment in deployments:
            name, number = deployment.id or deployment.model_name, 2
            while not deployment.id and name in taken:
                name, number = f"{deployment.model_name}-{number}", number + 1
            taken.add(name)
            named.append(deployment.model_copy(update={"id": name}))
        return named

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        known = {name for each in self.deployments for name in (each.id, each.model_name)}
        for combo, names in self.combos.items():
            for at, name in enumerate(names):
                if name not in known:
                    reason = f"combo {combo!r} names {name!r}, which is no deployment"
                    raise UnknownNameError(reason, "combos", combo, at)
        for role, combo in self.roles.items():
            if combo not in self.combos:
                reason = f"role {role!r} names the combo {combo!r}, which does not exist"
                raise UnknownNameError(reason, "roles", role)
        self._check_quotas()
        if self.active is not None and self.active not in self.combos:
            raise UnknownNameError(f"the active combo {self.active!r} does not exist", "active")
        return self

    def _check_quotas(self) -> None:
        deployments = {_EVERY, *(each.id for each in self.deployments)}
        providers = {_EVERY, *(each.paid_to for each in self.deployments)}
        for at, quota in enumerate(self.quotas):
            if quota.deployment is not None and quota.deployment not in deployments:
                reason = f"a quota names {quota.deployment!r}, which is no deployment"
                raise UnknownNameError(reason, "quotas", at, "deployment")
            if quota.provider is not None and quota.provider not in providers:
                reason = f"a quota names {quota.provider!r}, whom nobody pays"
                raise UnknownNameError(reason, "quotas", at, "provider")
