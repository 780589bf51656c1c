"""The settings of a router, as in its file."""

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
    """Limit of usage per period, by provider, deployment, caller or team.

    Set exactly one of `provider`, `deployment`, `owner`, `team` and `total`; "*" applies to each
    one separately, `total: true` to the sum of all calls. Set at least one of `requests`,
    `tokens` and `usd`.
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
        """The kind of entity it limits."""
        return next(scope for scope in _SCOPES if getattr(self, scope) is not None)

    @model_validator(mode="after")
    def _is_about_one(self) -> Self:
        if sum(getattr(self, scope) is not None for scope in _SCOPES) != 1:
            raise ValueError("set exactly one of provider, deployment, owner, team and total")
        if self.requests is None and self.tokens is None and self.usd is None:
            raise ValueError("set requests, tokens or usd")
        return self


class Access(BaseModel, extra="forbid", frozen=True):
    """Models that a caller or the members of a team may use.

    Set exactly one of `owner` and `team`; `owner: "*"` means all callers.
    """

    owner: str | None = None
    team: str | None = None
    models: Names

    @model_validator(mode="after")
    def _is_about_one(self) -> Self:
        if (self.owner is None) == (self.team is None):
            raise ValueError("set either owner or team")
        return self


class HistoryConfig(BaseModel, extra="forbid", frozen=True):
    """The log of decisions and their costs.

    Attributes:
        folder: Folder for one file per day (UTC). A relative path in a router's file starts
            at the folder of that file.
        days: Days to keep files.
    """

    folder: str = Field(min_length=1)
    days: PositiveInt = 90


class CacheConfig(BaseModel, extra="forbid", frozen=True):
    """Caching of models' answers.

    Attributes:
        seconds: Lifetime of an answer.
        entries: Maximum number of answers; those that expire first are dropped.
        shared: Whether callers share cached answers. This reveals whether a question was asked
            before.
    """

    seconds: PositiveInt = 600
    entries: PositiveInt = 1000
    shared: bool = False


class Combo(BaseModel, extra="forbid", frozen=True):
    """A named route. A list in the file is a route with the router's strategy.

    Attributes:
        route: Groups or deployments, in order.
        strategy: Overrides the router's strategy.
    """

    route: Names
    strategy: Strategy | None = None

    @model_validator(mode="before")
    @classmethod
    def _may_be_a_list(cls, value: Any) -> Any:
        return {"route": value} if isinstance(value, list) else value


class RouterConfig(BaseModel, extra="forbid", frozen=True):
    """Settings of a router. The routing settings in files of litellm's proxy work as well.

    Attributes:
        name: Name of the agent.
        description: Description of the agent.
        deployments: The models and agents (litellm: `model_list`).
        aliases: Aliases of groups (litellm: `model_group_alias`).
        combos: Routes by name: groups or deployments, in order.
        fallbacks: By group, the groups or deployments to try after it when a caller requests
            that group; those of "*" come after any others.
        active: The default combo; without it, all deployments in order.
        roles: The combo of each role.
        prices: Prices by deployment, group or litellm model, overriding litellm's price list.
        quotas: Limits of usage.
        teams: Owners by team; an owner may belong to several.
        access: Allowed groups, deployments or aliases by caller; "*" means all. A caller may
            use everything allowed by any rule; without rules, all access is allowed.
        cache: Caching of models' answers; None disables it.
        history: Log of decisions and costs; None disables it.
        strategy: Order in which the deployments of a route are tried. Those of a group share
            its calls by weight unless the strategy decides otherwise.
        min_tokens: Minimum useful length of an answer: calls that budgets and quotas would limit
            further are not made.
        retries: Retries of a deployment before trying the next.
        allowed_fails: Failures of a deployment per minute before its cooldown.
        cooldown_seconds: Cooldown of a failed deployment.
        timeout_seconds: Maximum silence of a model, or duration of an agent's answer.
        lease_seconds: Time until the reservations of a dead process
            expire.
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
        """Reduce `{model, hidden}` to its model, since aliases are never listed."""
        if not isinstance(aliases, dict):
            return aliases
        return {k: v.get("model") if isinstance(v, dict) else v for k, v in aliases.items()}

    @field_validator("deployments")
    @classmethod
    def _numbered(cls, deployments: list[Deployment]) -> list[Deployment]:
        """Give each deployment a unique name."""
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
                reason = f"alias {alias!r} refers to the unknown deployment {name!r}"
                raise SettingError(reason, "aliases", alias)
        known |= self.aliases.keys()
        self._check_routes(known)
        self._check_access(known)
        for role, combo in self.roles.items():
            if combo not in self.combos:
                reason = f"role {role!r} refers to the unknown combo {combo!r}"
                raise SettingError(reason, "roles", role)
        self._check_quotas()
        self._check_quality()
        if self.active is not None and self.active not in self.combos:
            raise SettingError(f"unknown combo {self.active!r}", "active")
        return self

    def _check_routes(self, known: AbstractSet[str]) -> None:
        for combo, names in self.combos.items():
            for at, name in enumerate(names.route):
                if name not in known:
                    reason = f"combo {combo!r} refers to the unknown deployment {name!r}"
                    raise SettingError(reason, "combos", combo, at)
        for model, route in self.fallbacks.items():
            for name in (model, *route) if model != _EVERY else route:
                if name not in known:
                    reason = f"the fallbacks of {model!r} refer to the unknown deployment {name!r}"
                    raise SettingError(reason, "fallbacks", model)

    def _check_access(self, known: AbstractSet[str]) -> None:
        for at, rule in enumerate(self.access):
            if unknown := {*rule.models} - known - {_EVERY}:
                reason = f"access to the unknown deployment {min(unknown)!r}"
                raise SettingError(reason, "access", at, "models")
            if rule.team is not None and rule.team not in self.teams:
                reason = f"access of the unknown team {rule.team!r}"
                raise SettingError(reason, "access", at, "team")

    def _check_quality(self) -> None:
        strategies = [self.strategy, *(combo.strategy for combo in self.combos.values())]
        if "quality" in strategies and all(each.quality is None for each in self.deployments):
            raise SettingError("the strategy quality needs a deployment with a quality", "strategy")

    @property
    def limits(self) -> list[Quota]:
        """The quotas, including `rpm` and `tpm` of deployments."""
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
                reason = f"a quota refers to the unknown deployment {quota.deployment!r}"
                raise SettingError(reason, "quotas", at, "deployment")
            if quota.provider is not None and quota.provider not in providers:
                reason = f"a quota refers to the unknown provider {quota.provider!r}"
                raise SettingError(reason, "quotas", at, "provider")
            if quota.team is not None and quota.team not in {_EVERY, *self.teams}:
                reason = f"a quota refers to the unknown team {quota.team!r}"
                raise SettingError(reason, "quotas", at, "team")
