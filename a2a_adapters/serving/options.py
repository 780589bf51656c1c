"""How a served agent is run, and what its card says in place of the target."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a.server.cluster.task_store import VersionedTaskStore
    from a2a.server.tasks import TaskStore

    from a2a_adapters.contract.adapter import Extension
    from a2a_adapters.executor.executor import Redact
    from a2a_adapters.observability.logs import LogFormat
    from a2a_adapters.observability.workers import WorkerFigures
    from a2a_adapters.runtime.push import PushOptions
    from a2a_adapters.security import Authenticator
    from a2a_adapters.serving.card import ExtendedDescription
    from a2a_adapters.serving.signing import CardSigner

__all__ = ["NamedTarget", "ServerOptions"]

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s@A-Z]+")


def _storage() -> str:
    return os.environ.get("A2A_ADAPTERS_STORAGE") or "memory:"


def _bus() -> str | None:
    return os.environ.get("A2A_ADAPTERS_BUS") or None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How an agent is run. The defaults suit an agent on one's own machine.

    Attributes:
        authentication: Who may use the agent, as its card will say; by default everybody.
        extended_description: Makes what authenticated callers are told of what everybody is and
            the caller's name; needs `authentication`.
        allowed_hosts: Names besides this machine's that requests to a loopback address may
            carry in `Host` and `Origin` as long as there is no authentication; `*` is any.
        cors_origins: Origins whose web pages may use the agent from a browser, as in
            `https://chat.example`; `*` is any, and lets none use an agent that asks nobody who
            they are on one's own machine.
        limits: What the agent may use.
        storage: Where tasks, conversations and all else is kept: `memory:`, `sqlite:///file.db`
            or `postgresql://user:password@host/database`. By default what the environment's
            `A2A_ADAPTERS_STORAGE` says, else memory.
        bus: By what the processes that share a `postgresql:` storage talk: `redis://host:6379`,
            which needs the extra `redis`. By default what the environment's `A2A_ADAPTERS_BUS`
            says, else the storage itself.
        task_store: A store of a2a-sdk for the tasks alone, in place of `storage`; without the
            promises that come with that.
        redact: Changes or drops events of the progress extension before they are sent.
        trust_forwarded: Whether the card's address follows `X-Forwarded-*` headers; only
            behind a proxy that sets them.
        grpc_port: Where to listen for gRPC as well, which needs the extra `grpc`; 0 takes a
            free port. Without TLS: put a proxy in front of it for other machines.
        grpc_host: Where to listen for gRPC; `serve` takes its own host.
        grpc_url: Its address in the card, as in `agents.example.org:50051`; by default the host a
            client used and the port.
        push: Offers push notifications: this process then makes requests to URLs its callers
            name, as far as `PushOptions.outbound` allows.
        console: Shows a page at `/console` that people talk to the agents with. By default `serve`
            does so at a terminal, for one's own machine and without authentication. The page holds
            nothing: what it asks of the agents needs credentials as any other call does.
        metrics: Shows figures for Prometheus at `/metrics`, which needs the extra `metrics`. `serve
            --workers` names the workers whose figures are shown together.
        card_signer: Signs the card, which needs a fixed `url`; see `card_signer`.
        extensions: Extensions that every agent here speaks, besides those of its adapter; their
            URIs are in `AgentRequest.extensions` of callers that activate them.
        log_format: How `serve` writes its log: for people, or a JSON object per line.
        keep_going: Serves the others of several agents when one cannot be opened, such as an MCP
            server that does not start. The log names that one.

    Raises:
        ConfigurationError: Nobody could ever get the extended card, or a value of
            `cors_origins` is no origin.
    """

    authentication: Authenticator | None = None
    extended_description: ExtendedDescription | None = None
    allowed_hosts: Sequence[str] = ()
    cors_origins: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    storage: str = field(default_factory=_storage)
    bus: str | None = field(default_factory=_bus)
    task_store: TaskStore | VersionedTaskStore | None = None
    redact: Redact | None = None
    trust_forwarded: bool = False
    grpc_port: int | None = None
    grpc_host: str = "127.0.0.1"
    grpc_url: str | None = None
    push: PushOptions | None = None
    console: bool | None = None
    metrics: bool | WorkerFigures = False
    card_signer: CardSigner | None = None
    extensions: Sequence[Extension] = ()
    log_format: LogFormat = "text"
    keep_going: bool = False

    def __post_init__(self) -> None:
        if self.extended_description is not None and self.authentication is None:
            raise ConfigurationError("extended_description is of no use without authentication")
        for origin in self.cors_origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise ConfigurationError(
                    f"{origin!r} is no origin: these look like https://chat.example, without a path"
                )


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """One of several targets, with the words of its card in place of its own.

    Attributes:
        target: As for `build_app`.
        name: The agent's name; by default the one it is served by.
        description: What it does; by default the target's own words.
    """

    target: object
    name: str | None = None
    description: str | None = None
