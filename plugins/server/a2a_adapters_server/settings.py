"""The settings of a server in files, the environment and the command line."""

from __future__ import annotations

import os
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator

from a2a_adapters.cli.targets import load_target
from a2a_adapters.contract.card import Card, Extension, Provider, Skill
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.events import HoldText
from a2a_adapters.contract.limits import Limits
from a2a_adapters.net import OutboundPolicy
from a2a_adapters.runtime.push import PushOptions
from a2a_adapters.serving.options import NamedTarget, Preview, ServerOptions
from a2a_adapters_server.credentials import authenticator
from a2a_adapters_server.platforms import platform

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a.types import AgentCard

Port = Annotated[int, Field(ge=0, le=65535)]


class Table(BaseModel):
    """A table of settings, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _numbers_of(options: type) -> type[Table]:
    """Return a table with the numeric fields of a dataclass of options; they must be at least 0."""
    kinds = {"int": int, "float": float}
    numbers: dict[str, Any] = {
        each.name: (Annotated[kinds[str(each.type)], Field(ge=0)], each.default)
        for each in fields(options)
        if each.type in kinds
    }
    return create_model(f"{options.__name__}Numbers", __base__=Table, **numbers)


class LimitsTable(_numbers_of(Limits)):  # type: ignore[misc]
    """`[limits]`: the fields of `Limits`."""


class PushTable(_numbers_of(PushOptions)):  # type: ignore[misc]
    """`[push]`: the fields of `PushOptions` and of its outbound policy."""

    https_only: bool = False
    allow_private: bool = False

    def options(self) -> PushOptions:
        """Convert the table into options."""
        table = self.model_dump()
        outbound = OutboundPolicy(
            https_only=table.pop("https_only"), allow_private=table.pop("allow_private")
        )
        return PushOptions(outbound=outbound, **table)


class SkillTable(Table):
    """`[[card.skills]]`: the fields of `Skill`, without schemas."""

    id: str
    name: str
    description: str
    tags: list[str] = Field(default_factory=list)
    examples: list[str] = Field(default_factory=list)


class ProviderTable(Table):
    """`provider` of a card."""

    organization: str
    url: str


class CardTable(Table):
    """`[card]`: the fields of `Card`, except for name and description."""

    version: str | None = None
    skills: list[SkillTable] | None = None
    tags: list[str] | None = None
    examples: list[str] | None = None
    provider: ProviderTable | None = None
    icon_url: str | None = None
    documentation_url: str | None = None
    input_modes: list[str] | None = None
    output_modes: list[str] | None = None

    def card(self) -> Card:
        """Convert the table into a card."""
        said = self.model_dump()
        if self.skills is not None:
            said["skills"] = [Skill(**each.model_dump()) for each in self.skills]
        if self.provider is not None:
            said["provider"] = Provider(**self.provider.model_dump())
        return Card(**said)


class AgentSettings(Table):
    """`[agents.NAME]`: one of several agents."""

    target: str
    name: str | None = None
    description: str | None = None
    card: CardTable = Field(default_factory=CardTable)


class ServerSettings(Table):
    """All settings of `serve`, with its defaults."""

    platform: str | None = None
    target: str | None = None
    agents: dict[str, AgentSettings] = Field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    card: CardTable = Field(default_factory=CardTable)
    host: str = "127.0.0.1"
    port: Port = 8000
    url: str | None = None
    storage: str = "memory:"
    bus: str | None = None
    workers: Annotated[int, Field(ge=1)] = 1
    dialects: list[str] = Field(default_factory=list)
    bearer_token_file: Path | None = None
    api_key_file: Path | None = None
    forwarded_user: str | None = None
    forwarded_audience: str | None = None
    allow_unauthenticated: bool = False
    allowed_hosts: list[str] = Field(default_factory=list)
    cors_origins: list[str] = Field(default_factory=list)
    caller_headers: list[str] = Field(default_factory=list)
    context_header: str = ""
    operators: list[str] = Field(default_factory=list)
    trust_traces: Literal["authenticated", "all", "none"] = "authenticated"
    extensions: list[str] = Field(default_factory=list)
    hold_text: HoldText = "guarded"
    trust_forwarded: bool = False
    root_path: str = ""
    health_paths: list[str] = Field(default_factory=list)
    grpc_port: Port | None = None
    grpc_url: str | None = None
    console: bool | None = None
    console_title: str = ""
    console_logo: Path | None = None
    console_colour: str = ""
    console_view: Literal["console", "chat"] = "console"
    metrics: bool = False
    card_key: Path | None = None
    log_format: Literal["text", "json"] = "text"
    keep_going: bool = False
    preview: Preview | None = None
    push: PushTable | None = None
    limits: LimitsTable = Field(default_factory=LimitsTable)

    @field_validator("agents", mode="before")
    @classmethod
    def _with_targets(cls, agents: object) -> object:
        """Accept a target in place of an agent's table: `poet = "app:chain"`."""
        if not isinstance(agents, dict):
            return agents
        return {
            name: {"target": agent} if isinstance(agent, str) else agent
            for name, agent in agents.items()
        }

    @field_validator("push", mode="before")
    @classmethod
    def _with_defaults(cls, push: object) -> object:
        """Accept `push = true` for the default options."""
        return {True: {}, False: None}[push] if isinstance(push, bool) else push

    @field_validator(
        "dialects",
        "allowed_hosts",
        "cors_origins",
        "caller_headers",
        "extensions",
        "health_paths",
        "operators",
        mode="before",
    )
    @classmethod
    def _split(cls, names: object) -> object:
        """Accept a comma-separated list, for the environment."""
        return names.replace(",", " ").split() if isinstance(names, str) else names

    def load(self, folder: Path | None) -> object:
        """Import the single target, or several by name.

        Args:
            folder: A folder to search for modules after the current one.

        Raises:
            ConfigurationError: There is no target, it cannot be imported, or the platform does not
                call agents with names.
        """
        if folder is not None:
            sys.path.insert(0, str(folder))
        if self.target is not None and self.agents:
            raise ConfigurationError("set either target or agents, not both")
        if self.target is not None:
            return load_target(self.target)
        if not self.agents:
            raise ConfigurationError(
                "there is nothing to serve: name MODULE:ATTRIBUTE, or write a2a-adapters.toml"
            )
        if self.platform and platform(self.platform).calls_root_only:
            raise ConfigurationError(
                f"{self.platform} calls the root only: name one agent, as in: a2a-adapters serve "
                f"MODULE:ATTRIBUTE --platform {self.platform}"
            )
        return {
            key: NamedTarget(
                load_target(agent.target), agent.name, agent.description, agent.card.card()
            )
            for key, agent in self.agents.items()
        }

    def consoles(self) -> list[object]:
        """Return the console's dialect if it has settings.

        Raises:
            ConfigurationError: A setting is invalid.
        """
        look = {
            "title": self.console_title,
            "logo": self.console_logo,
            "colour": self.console_colour,
            "view": self.console_view,
        }
        names = {f"console_{name}" for name in look}
        if self.console is False or not names & self.model_fields_set:
            return []
        from a2a_adapters_console import Console  # noqa: PLC0415 - only if it is used

        return [Console(**look)]  # type: ignore[arg-type]

    def options(self) -> ServerOptions:
        """Convert the settings into options.

        Raises:
            ConfigurationError: A file cannot be read, or a setting is invalid.
        """
        return ServerOptions(
            authentication=authenticator(
                self.bearer_token_file,
                self.api_key_file,
                os.environ,
                self.forwarded_user,
                self.forwarded_audience,
            ),
            allowed_hosts=self.allowed_hosts,
            cors_origins=self.cors_origins,
            caller_headers=self.caller_headers,
            context_header=self.context_header,
            operators=self.operators,
            trust_traces=self.trust_traces,
            extensions=[Extension(uri=uri) for uri in self.extensions],
            limits=Limits(**self.limits.model_dump()),
            storage=self.storage,
            bus=self.bus,
            hold_text=self.hold_text,
            trust_forwarded=self.trust_forwarded,
            root_path=self.root_path,
            health_paths=self.health_paths,
            grpc_port=self.grpc_port,
            grpc_url=self.grpc_url,
            push=self.push.options() if self.push else None,
            console=self.console,
            metrics=self.metrics,
            card_signer=_card_signer(self.card_key) if self.card_key else None,
            log_format=self.log_format,
            keep_going=self.keep_going,
            preview=self.preview,
        )


def _card_signer(path: Path) -> Callable[[AgentCard], AgentCard]:
    from a2a_adapters_jwt import card_signer  # noqa: PLC0415 - imports a2a-sdk only if it is used

    try:
        return card_signer(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
