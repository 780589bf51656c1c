"""Several remote agents by name, from a mapping or a file with settings."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Self, TypeAlias, TypeVar

import httpx
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from a2a_adapters.calling.agent import RemoteAgent
from a2a_adapters.calling.auth import HeadersAuth
from a2a_adapters.calling.errors import RemoteAgentError
from a2a_adapters.calling.options import Interceptor, RemoteCall, RemoteOptions
from a2a_adapters.calling.tools import FleetMember
from a2a_adapters.concurrency import blocking
from a2a_adapters.contract.checking import check_arguments
from a2a_adapters.contract.errors import ConfigurationError, violations
from a2a_adapters.contract.text import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters.calling.reply import AgentReply
    from a2a_adapters.contract.card import AgentDescription, Skill

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_SECONDS = 10.0
"""Time for the card of an agent; the others wait for it."""

_LIMITS = {"timeout", "connect_timeout", "idle_timeout", "retries", "answer_bytes"}

Tool = TypeVar("Tool")
Positive = Annotated[float, Field(gt=0)]

logger = logging.getLogger(__name__)


class RemoteSettings(BaseModel):
    """Settings of a remote agent: a table `[remote.NAME]` of a file, or a mapping.

    Attributes:
        url: The URL of the agent or of its card, or `HOST#NAME` for an agent of a catalog.
        description: What a model reads in place of the card's description.
        skill: The id of the skill that the agent's tool stands for.
        bearer_env: The environment variable with a bearer token.
        headers_env: The environment variables with the values of headers, by header.
        auth: Other credentials, in Python only.
        wait: Maximum time in seconds that a call of the tool waits for the answer.
        timeout: As in `RemoteOptions`, like the following.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    url: str
    description: str | None = None
    skill: str | None = None
    bearer_env: str | None = None
    headers_env: dict[str, str] = Field(default_factory=dict)
    auth: httpx.Auth | None = None
    wait: Positive | None = None
    timeout: Positive | None = None
    connect_timeout: Positive | None = None
    idle_timeout: Positive | None = None
    retries: Annotated[int, Field(ge=0)] | None = None
    answer_bytes: Annotated[int, Field(ge=0)] | None = None

    @classmethod
    def of(cls, name: str, settings: object) -> Self:
        """Check the settings of the agent of this name.

        Raises:
            ConfigurationError: A setting is unknown or invalid; the text contains no values.
        """
        try:
            return cls.model_validate({"url": settings} if isinstance(settings, str) else settings)
        except ValidationError as error:
            wrong = "; ".join(f"{place or name}: {what}" for place, what in violations(error))
            raise ConfigurationError(f"the remote agent {name}: {wrong}") from None

    def headers(self) -> dict[str, str]:
        """Return the headers whose values are in the environment.

        Raises:
            ConfigurationError: A variable is not set.
        """
        named = dict(self.headers_env)
        if self.bearer_env:
            named["Authorization"] = self.bearer_env
        if missing := [variable for variable in named.values() if not os.environ.get(variable)]:
            raise ConfigurationError(f"{self.url} needs the variable {', '.join(missing)}")
        headers = {header: os.environ[variable] for header, variable in named.items()}
        if self.bearer_env:
            headers["Authorization"] = f"Bearer {headers['Authorization']}"
        return headers

    def agent(self, interceptors: Sequence[Interceptor] = ()) -> RemoteAgent:
        """Return the agent, not yet connected.

        Raises:
            ConfigurationError: The URL is invalid, or a variable is not set.
        """
        headers = self.headers()
        limits = self.model_dump(include=_LIMITS, exclude_none=True)
        return RemoteAgent(
            self.url,
            auth=self.auth or (HeadersAuth(headers) if headers else None),
            options=RemoteOptions(**limits, interceptors=interceptors),
        )


def read_remotes(file: Path) -> dict[str, RemoteSettings]:
    """Return the agents in the tables `[remote.NAME]` of a TOML file, by name.

    In pyproject.toml, the tables are `[tool.a2a-adapters.remote.NAME]`.

    Raises:
        ConfigurationError: The file cannot be read, or a setting is invalid.
    """
    try:
        content: Any = tomllib.loads(file.read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:  # invalid TOML or UTF-8
        raise ConfigurationError(f"{file} is invalid: {error}") from error
    path = ["tool", "a2a-adapters", "remote"] if file.name == "pyproject.toml" else ["remote"]
    for key in path:
        content = content.get(key, {})
        if not isinstance(content, dict):
            raise ConfigurationError(f"{file}: {key} is not a table")
    return {name: RemoteSettings.of(name, each) for name, each in content.items()}


class Fleet:
    """Several remote agents by name, for the toolkits of frameworks.

        Fleet({"poet": "https://poet.example", "travel": {"url": "https://...", "wait": 30}})

    Args:
        agents: The agents by the names of their tools: URLs, `RemoteAgent`s, or settings.
        prefix: Precedes the names of tools.
        interceptors: Run before and after all calls of agents that are not given as `RemoteAgent`;
            see `RemoteOptions.interceptors`.

    Raises:
        ConfigurationError: A name is not a word, a setting is invalid, or a variable is not set.
    """

    def __init__(
        self,
        agents: Mapping[str, str | RemoteAgent | RemoteSettings | Mapping[str, Any]],
        *,
        prefix: str = "",
        interceptors: Sequence[Interceptor] = (),
    ) -> None:
        check_arguments(Fleet, {"prefix": prefix, "interceptors": interceptors})
        self._prefix = prefix
        self._settings: dict[str, RemoteSettings | None] = {}
        self._down: set[str] = set()
        self.agents: dict[str, RemoteAgent] = {}
        for name, given in agents.items():
            if not _NAME.fullmatch(name):
                raise ConfigurationError(f"{name!r} is not a name: use letters, digits, - and _")
            if isinstance(given, RemoteAgent):
                self.agents[name], self._settings[name] = given, None
                continue
            settings = self._settings[name] = RemoteSettings.of(name, given)
            self.agents[name] = settings.agent([_Named(each, name) for each in interceptors])

    @classmethod
    def of(cls, agents: AnyFleet) -> Fleet:
        """Return a fleet, or make one of a mapping."""
        return agents if isinstance(agents, Fleet) else cls(agents)

    @classmethod
    def from_file(
        cls,
        file: str | Path = "a2a-adapters.toml",
        *,
        prefix: str = "",
        interceptors: Sequence[Interceptor] = (),
    ) -> Self:
        """Return the agents of the tables `[remote.NAME]` of a TOML file.

        Raises:
            ConfigurationError: The file cannot be read, a setting is invalid, or a variable is not
                set.
        """
        return cls(read_remotes(Path(file)), prefix=prefix, interceptors=interceptors)

    async def members(self) -> list[FleetMember]:
        """Return the agents whose cards can be read, in their order.

        The others are left out with a warning until a later call finds them. A card is read once:
        the calls of an agent that goes down later fail.

        Raises:
            ConfigurationError: An agent does not have the skill of its settings.
        """
        found = await asyncio.gather(*map(self._member, self.agents))
        return [member for member in found if member]

    members_sync = blocking.running(members)

    async def _member(self, name: str) -> FleetMember | None:
        agent = self.agents[name]
        try:
            async with asyncio.timeout(_SECONDS):
                about = await agent.describe()
        except (RemoteAgentError, TimeoutError) as error:
            if name not in self._down:
                self._down.add(name)
                reason = quote(str(error)) or "its card did not arrive in time"
                logger.warning("the agent %s is left out until it answers: %s", name, reason)
            return None
        if name in self._down:
            self._down.remove(name)
            logger.info("the agent %s answers again", name)
        return self._described(name, about)

    def _described(self, name: str, about: AgentDescription) -> FleetMember:
        settings, shown = self._settings[name], f"{self._prefix}{name}"
        agent = self.agents[name]
        if settings is None:
            return FleetMember(agent, replace(about, name=shown), None)
        chosen: AgentDescription | Skill = about
        if settings.skill is not None:
            chosen = _skill(name, settings.skill, about)
        description = settings.description or chosen.description
        return FleetMember(
            agent, replace(chosen, name=shown, description=description), settings.wait
        )

    async def aclose(self) -> None:
        """Close the connections of all agents; the next calls reopen them."""
        await asyncio.gather(*(agent.aclose() for agent in self.agents.values()))

    close = blocking.running(aclose)


AnyFleet: TypeAlias = Fleet | Mapping[str, str | RemoteAgent | RemoteSettings | Mapping[str, Any]]
"""A fleet, or the agents of one."""


class Toolkit(ABC, Generic[Tool]):
    """A tool for each agent of a fleet: `A2AToolkit({"poet": "http://..."}).get_tools()`.

    Agents that are down are left out; call `get_tools` again to include them once they are back.

    Args:
        agents: A `Fleet`, or its agents by the names of their tools: URLs, settings, or
            `RemoteAgent`s.

    Raises:
        ConfigurationError: A setting is invalid.
    """

    def __init__(self, agents: AnyFleet) -> None:
        self.fleet = Fleet.of(agents)

    def get_tools(self) -> list[Tool]:
        """Return the tools of the reachable agents, in their order."""
        return [self._tool(member) for member in self.fleet.members_sync()]

    async def aget_tools(self) -> list[Tool]:
        """`get_tools` in async code."""
        return [self._tool(member) for member in await self.fleet.members()]

    @staticmethod
    @abstractmethod
    def _tool(member: FleetMember) -> Tool:
        """Return the framework's tool for an agent."""


def _skill(name: str, skill_id: str, about: AgentDescription) -> Skill:
    for skill in about.skills:
        if skill.id == skill_id:
            return skill
    known = ", ".join(skill.id for skill in about.skills)
    raise ConfigurationError(f"the agent {name} has no skill {skill_id!r}; it has {known}")


class _Named(Interceptor):
    """Gives an interceptor the agent's name in its fleet."""

    def __init__(self, inner: Interceptor, name: str) -> None:
        self._inner = inner
        self._name = name

    async def before(self, call: RemoteCall) -> RemoteCall:
        return await self._inner.before(replace(call, agent=self._name))

    async def after(self, call: RemoteCall, reply: AgentReply) -> AgentReply:
        return await self._inner.after(replace(call, agent=self._name), reply)
