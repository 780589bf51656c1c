"""What a router is made of, as its file says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, field_validator, model_validator

from a2a_adapters_router.litellm_file import SettingError, translated_deployment, translated_file
from a2a_adapters_router.secrets import FROM_ENVIRONMENT, written_secret

__all__ = [
    "Access",
    "Combo",
    "Deployment",
    "HistoryConfig",
    "Price",
    "Quota",
    "RouterConfig",
]

_EVERY = "*"

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
More = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Retries = Annotated[int, Field(ge=0, le=10)]
Names = Annotated[list[str], Field(min_length=1)]

Strategy: TypeAlias = Literal[
    "order", "weighted", "least-busy", "cheapest", "fastest", "most-quota", "quality"
]

Scope: TypeAlias = Literal["owner", "team", "provider", "deployment", "total"]
_SCOPES: tuple[Scope, ...] = get_args(Scope)


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


class Quota(_Strict):
    """How much may go to a provider or deployment, or be used by a caller or a team, in some time.

    Exactly one of `provider`, `deployment`, `owner`, `team` and `total` is given; "*" means each
    one for itself, `total: true` all calls together. At least one of `requests`, `tokens` and
    `usd` is.
    """

    provider: str | None = None
    deployment: str | None = None
    owner: str | None = None
    team: str | None = None
    total: Literal[True] | None = None
    per: Literal["minute", "day", "month"]
    requests: PositiveInt | None = None
    tokens: PositiveInt | None = None
    usd: More | None = None

    @property
    def scope(self) -> Scope:
        """What kind of thing it is about."""
        return next(scope for scope in _SCOPES if getattr(self, scope) is not None)

    @model_validator(mode="after")
    def _is_about_one(self) -> Self:
        if sum(getattr(self, scope) is not None for scope in _SCOPES) != 1:
            raise ValueError("give one of provider, deployment, owner, team and total")
        if self.requests is None and self.tokens is None and self.usd is None:
            raise ValueError("give requests, tokens or usd")
        return self


class Access(_Strict):
    """The models that a caller or the members of a team may use.

    Exactly one of `owner` and `team` is given; `owner: "*"` means all callers.
    """

    owner: str | None = None
    team: str | None = None
    models: Names

    @model_validator(mode="after")
    def _is_about_one(self) -> Self:
        if (self.owner is None) == (self.team is None):
            raise ValueError("give either owner or team")
        return self


class HistoryConfig(_Strict):
    """Where decisions and their costs are logged.

    Attributes:
        folder: Its files are named by their day (UTC). A relative path in a router's file begins
            at the folder of that file.
        days: How many days they are kept.
    """

    folder: str = Field(min_length=1)
    days: PositiveInt = 90


class Combo(_Strict):
    """A route; one that is a list in the file has the router's strategy.

    Attributes:
        route: Groups or deployments, in order.
        strategy: Overrides the router's.
    """

    route: Names
    strategy: Strategy | None = None

    @model_validator(mode="before")
    @classmethod
    def _may_be_a_list(cls, value: Any) -> Any:
        return {"route": value} if isinstance(value, list) else value


class RouterConfig(_Strict):
    """A router. The files of litellm's proxy are read as well, as far as they concern routing.

    Attributes:
        name: The agent's name.
        description: What it says of itself.
        deployments: The models and agents; litellm's `model_list`.
        aliases: Other names of groups; litellm's `model_group_alias`.
        combos: Routes by name: groups or deployments, in order.
        fallbacks: By group, the groups or deployments that are asked after it when a caller asks
            for that group; those of "*" are asked after the ones of any.
        active: The combo for who asks for none; without it, all deployments in their order.
        roles: The combo of each role.
        prices: By deployment, group or litellm's model: what litellm's price list does not know.
        quotas: What may be used.
        teams: The owners of each team; an owner may be in several.
        access: Who may use which groups, deployments or aliases; "*" stands for all. A caller may
            use what any of the rules allows; without rules, everybody may use everything.
        history: Where decisions and their costs are logged; None for nowhere.
        strategy: In which order the deployments of a route are tried. Those of one group share
            its calls by their weights, unless something else decides between them.
        min_tokens: The shortest answer worth its price: a call that budgets and quotas would cut
            below it is not made.
        retries: How often a deployment is tried again before the next one's turn.
        allowed_fails: How often a deployment may fail within a minute before it is left alone.
        cooldown_seconds: How long one that failed is left alone.
        timeout_seconds: How long a model may be silent, or an agent may take.
        lease_seconds: How long what calls may cost at worst stays reserved after their process
            has died.
    """

    name: str = "router"
    description: str = "Routes messages to the best of several models and agents."
    deployments: list[Deployment] = Field(min_length=1)
    aliases: dict[str, str] = {}
    combos: dict[str, Combo] = {}
    fallbacks: dict[str, Names] = {}
    active: str | None = None
    roles: dict[str, str] = {}
    prices: dict[str, Price] = {}
    quotas: list[Quota] = []
    teams: dict[str, Names] = {}
    access: list[Access] = []
    history: HistoryConfig | None = None
    strategy: Strategy = "order"
    min_tokens: PositiveInt = 16
    retries: Retries = 0
    allowed_fails: Annotated[int, Field(ge=0)] = 0
    cooldown_seconds: Amount = 30
    timeout_seconds: More = 60
    lease_seconds: More = 60

    @model_validator(mode="before")
    @classmethod
    def _as_in_litellm(cls, settings: Any) -> Any:
        return translated_file(settings) if isinstance(settings, dict) else settings

    @field_validator("aliases", mode="before")
    @classmethod
    def _without_details(cls, aliases: Any) -> Any:
        """Take `{model, hidden}` for its model: no alias is ever listed."""
        if not isinstance(aliases, dict):
            return aliases
        return {k: v.get("model") if isinstance(v, dict) else v for k, v in aliases.items()}

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
        for alias, name in self.aliases.items():
            if name not in known:
                reason = f"alias {alias!r} names {name!r}, which is no deployment"
                raise SettingError(reason, "aliases", alias)
        known |= self.aliases.keys()
        self._check_routes(known)
        self._check_access(known)
        for role, combo in self.roles.items():
            if combo not in self.combos:
                reason = f"role {role!r} names the combo {combo!r}, which does not exist"
                raise SettingError(reason, "roles", role)
        self._check_quotas()
        self._check_quality()
        if self.active is not None and self.active not in self.combos:
            raise SettingError(f"the active combo {self.active!r} does not exist", "active")
        return self

    def _check_routes(self, known: AbstractSet[str]) -> None:
        for combo, names in self.combos.items():
            for at, name in enumerate(names.route):
                if name not in known:
                    reason = f"combo {combo!r} names {name!r}, which is no deployment"
                    raise SettingError(reason, "combos", combo, at)
        for model, route in self.fallbacks.items():
            for name in (model, *route) if model != _EVERY else route:
                if name not in known:
                    reason = f"the fallbacks of {model!r} name {name!r}, which is no deployment"
                    raise SettingError(reason, "fallbacks", model)

    def _check_access(self, known: AbstractSet[str]) -> None:
        for at, rule in enumerate(self.access):
            if unknown := {*rule.models} - known - {_EVERY}:
                reason = f"access to {min(unknown)!r}, which is no deployment"
                raise SettingError(reason, "access", at, "models")
            if rule.team is not None and rule.team not in self.teams:
                reason = f"access of {rule.team!r}, which is not one of the teams"
                raise SettingError(reason, "access", at, "team")

    def _check_quality(self) -> None:
        strategies = [self.strategy, *(combo.strategy for combo in self.combos.values())]
        if "quality" in strategies and all(each.quality is None for each in self.deployments):
            raise SettingError("no deployment has a quality to be chosen by", "strategy")

    @property
    def limits(self) -> list[Quota]:
        """The quotas, those that deployments have as `rpm` and `tpm` included."""
        own = [
            Quota(deployment=each.id, per="minute", requests=each.rpm, tokens=each.tpm)
            for each in self.deployments
            if each.rpm or each.tpm
        ]
        return [*self.quotas, *own]

    def _check_quotas(self) -> None:
        deployments = {_EVERY, *(each.id for each in self.deployments)}
        providers = {_EVERY, *(each.paid_to for each in self.deployments)}
        for at, quota in enumerate(self.quotas):
            if quota.deployment is not None and quota.deployment not in deployments:
                reason = f"a quota names {quota.deployment!r}, which is no deployment"
                raise SettingError(reason, "quotas", at, "deployment")
            if quota.provider is not None and quota.provider not in providers:
                reason = f"a quota names {quota.provider!r}, whom nobody pays"
                raise SettingError(reason, "quotas", at, "provider")
            if quota.team is not None and quota.team not in {_EVERY, *self.teams}:
                reason = f"a quota names {quota.team!r}, which is not one of the teams"
                raise SettingError(reason, "quotas", at, "team")
