"""What a router is made of, as its file says it."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args

from pydantic import BaseModel, Field, PositiveInt, field_validator, model_validator

from a2a_adapters_router.deployment import Amount, Deployment, More, Price, Retries
from a2a_adapters_router.litellm_file import SettingError, translated_file

__all__ = [
    "Access",
    "CacheConfig",
    "Combo",
    "HistoryConfig",
    "Quota",
    "RouterConfig",
]

_EVERY = "*"

Names = Annotated[list[str], Field(min_length=1)]

Strategy: TypeAlias = Literal[
    "order", "weighted", "least-busy", "cheapest", "fastest", "most-quota", "quality"
]

Scope: TypeAlias = Literal["owner", "team", "provider", "deployment", "total"]
_SCOPES: tuple[Scope, ...] = get_args(Scope)


class Quota(BaseModel, extra="forbid", frozen=True):
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


class Access(BaseModel, extra="forbid", frozen=True):
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


class HistoryConfig(BaseModel, extra="forbid", frozen=True):
    """Where decisions and their costs are logged.

    Attributes:
        folder: Its files are named by their day (UTC). A relative path in a router's file begins
            at the folder of that file.
        days: How many days they are kept.
    """

    folder: str = Field(min_length=1)
    days: PositiveInt = 90


class CacheConfig(BaseModel, extra="forbid", frozen=True):
    """How the answers of models are kept, to be given again to the same question.

    Attributes:
        seconds: How long an answer is kept.
        entries: How many are kept; where there are more, those that expire first are dropped.
        shared: Whether a caller gets answers that others were given. Whether something was asked
            before can then be told from the answer.
    """

    seconds: PositiveInt = 600
    entries: PositiveInt = 1000
    shared: bool = False


class Combo(BaseModel, extra="forbid", frozen=True):
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


class RouterConfig(BaseModel, extra="forbid", frozen=True):
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
        cache: How answers of models are cached; None for not at all.
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
    cache: CacheConfig | None = None
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
