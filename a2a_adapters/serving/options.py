"""Options of a server."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from a2a_adapters.contract.card import Card, Extension  # noqa: TC001 - checked
from a2a_adapters.contract.checking import (
    check_fields,
    check_port,
    check_type,
)
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.events import HoldText, ProgressEvent  # noqa: TC001 - checked
from a2a_adapters.contract.limits import Limits
from a2a_adapters.observability.logs import LogFormat  # noqa: TC001 - checked
from a2a_adapters.security import Authenticator
from a2a_adapters.security.api_keys import check_header

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from a2a.server.cluster.task_store import VersionedTaskStore
    from a2a.server.tasks import TaskStore
    from a2a.types import AgentCard

    from a2a_adapters.contract.card import AgentDescription
    from a2a_adapters.executor.files import FileService
    from a2a_adapters.observability.figures import Workers
    from a2a_adapters.runtime.push import PushOptions

TrustTraces: TypeAlias = Literal["authenticated", "all", "none"]

Preview: TypeAlias = Literal["1.1"]
"""A version of A2A that is not released yet."""

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\s@A-Z]+")
_PATH = re.compile(r"(/[\w.~!$&'()*+,;=:@-]+)+", re.ASCII)


def _storage() -> str:
    return os.environ.get("A2A_ADAPTERS_STORAGE") or "memory:"


def _bus() -> str | None:
    return os.environ.get("A2A_ADAPTERS_BUS") or None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Options of a server. The defaults suit an agent on a developer's machine.

    Attributes:
        authentication: Authenticates callers, as the card announces. Default: none required.
        caller_headers: Names of request headers that agents may read in `AgentRequest.caller`.
        context_header: The name of a request header with the conversation of messages that name
            neither a context nor a task, such as a host's session. Any caller can choose it.
        operators: Callers who see the names and task ids of the agents that an agent calls: names
            of owners, `role:NAME` for the claim `roles`, `scope:NAME`, or `*` for all callers.
        trust_traces: Whose headers `traceparent` and `baggage` are passed on to the agents that an
            agent calls: "authenticated" callers, "all" or "none".
        extended_description: Returns the description for an authenticated caller, given the public
            one and the caller's name. Needs `authentication`.
        allowed_hosts: Additional host names that requests to a loopback address may have in `Host`
            and `Origin` without authentication; `*` is any.
        cors_origins: Origins whose web pages may use the agent from a browser, such as
            `https://chat.example`; `*` is any. `*` does not open an unauthenticated agent on this
            machine to web pages.
        limits: The agent's resource limits.
        storage: Stores tasks, conversations and state: `memory:`, `sqlite:///file.db` or
            `postgresql://user:password@host/database`. By default the environment variable
            `A2A_ADAPTERS_STORAGE`, or else memory.
        bus: The message bus between processes that share a `postgresql:` storage:
            `redis://host:6379`, which needs the extra `redis`. By default the environment variable
            `A2A_ADAPTERS_BUS`, or else the storage itself.
        files: Stores large files, so that messages contain links: `a2a_adapters_files.FileStore`.
        task_store: An a2a-sdk store for the tasks, in place of `storage` and without its
            guarantees.
        redact: Changes or drops events of the progress extension before they are sent.
        hold_text: Which text is held back: `"guarded"`, what a guardrail or a hook of the target
            may still change or block, until it is accepted; `"always"`, every answer, until the run
            has ended or asks; `"never"`, none, so that clients see what is corrected later.
        trust_forwarded: Whether the card's address follows `X-Forwarded-Proto`, `-Host`, `-Port`
            and `-Prefix`, and else `Forwarded`. Set it only behind a proxy that sets them.
        root_path: The path at which a proxy offers the server, such as `/team`. Requests may have
            it or not, as proxies strip it or not.
        health_paths: Additional paths of the health check `/healthz`, as a platform asks for.
        grpc_port: The port for gRPC, which needs the extra `grpc`; 0 takes a free port. It has no
            TLS: put a proxy in front of it for other machines.
        grpc_host: The address to listen on for gRPC; `serve` uses its own host.
        grpc_url: The address for gRPC in the card, such as `agents.example.org:50051`; by default
            the port on the host that the client used.
        push: Enables push notifications: this process then sends requests to URLs that callers
            choose, as far as `PushOptions.outbound` allows.
        console: Serves a chat page at `/console`. By default only `serve` does so, at a terminal,
            on a loopback address and without authentication. The page's calls are authenticated as
            any others.
        metrics: Serves Prometheus metrics at `/metrics`, which needs the extra `metrics`. `serve
            --workers` passes the workers whose metrics are combined.
        card_signer: Signs the card, which needs a fixed `url`; see `card_signer`.
        extensions: Extensions of every agent, besides those of its adapter. If a caller activates
            them, their URIs are in `AgentRequest.extensions`.
        log_format: The format of `serve`'s log: "text", or "json" with one object per line.
        keep_going: Whether to serve the other agents if one cannot be opened, such as an MCP server
            that does not start. The failure is logged.
        preview: Also serve a version of A2A that is not released yet, "1.1": tasks have a
            generation, which clients of that version can wait for and depend on. It may change in
            any release. Not with `task_store`, which may lose the generation.

    Raises:
        ConfigurationError: `extended_description` is set without `authentication`, an authenticator
            such as `ForwardedUser` without `trust_forwarded`, a value of `cors_origins` is not an
            origin, `root_path` or one of `health_paths` is not a path, `context_header` or one of
            `caller_headers` is not the name of a header, or a value has the wrong type or is out of
            range.
    """

    authentication: Authenticator | None = None
    caller_headers: Sequence[str] = ()
    context_header: str = ""
    operators: Sequence[str] = ()
    trust_traces: TrustTraces = "authenticated"
    extended_description: Callable[[AgentDescription, str], AgentDescription] | None = None
    allowed_hosts: Sequence[str] = ()
    cors_origins: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    storage: str = field(default_factory=_storage)
    bus: str | None = field(default_factory=_bus)
    files: FileService | None = None
    task_store: TaskStore | VersionedTaskStore | None = None
    redact: Callable[[ProgressEvent], ProgressEvent | None] | None = None
    hold_text: HoldText = "guarded"
    trust_forwarded: bool = False
    root_path: str = ""
    health_paths: Sequence[str] = ()
    grpc_port: int | None = None
    grpc_host: str = "127.0.0.1"
    grpc_url: str | None = None
    push: PushOptions | None = None
    console: bool | None = None
    metrics: bool | Workers = False
    card_signer: Callable[[AgentCard], AgentCard] | None = None
    extensions: Sequence[Extension] = ()
    log_format: LogFormat = "text"
    keep_going: bool = False
    preview: Preview | None = None

    @property
    def trusts_traces(self) -> bool | None:
        """Whether requests continue their callers' traces; None if authentication decides."""
        if self.trust_traces == "authenticated" and self.authentication is not None:
            return None
        return self.trust_traces == "all"

    def __post_init__(self) -> None:
        wanted = "an Authenticator, such as BearerTokens({token: user})"
        check_type("ServerOptions.authentication", self.authentication, Authenticator, wanted)
        if self.files is not None:
            from a2a_adapters.executor.files import FileService  # noqa: PLC0415 - a slow import

            check_type("ServerOptions.files", self.files, FileService, "a FileStore(...)")
        if not isinstance(self.metrics, bool):
            from a2a_adapters.observability.figures import Workers  # noqa: PLC0415 - a slow import

            check_type("ServerOptions.metrics", self.metrics, Workers, "True or False")
        check_fields(self)
        if self.grpc_port is not None:
            check_port(self.grpc_port, "ServerOptions.grpc_port")
        if self.preview and self.task_store is not None:
            raise ConfigurationError("preview needs a storage; a task_store may lose generations")
        if self.extended_description is not None and self.authentication is None:
            raise ConfigurationError("extended_description needs authentication")
        if self.authentication and self.authentication.trusts_front and not self.trust_forwarded:
            raise ConfigurationError(
                "the name of a user in a header is believed only from a trusted front: set "
                "trust_forwarded=True (--trust-forwarded) if every request comes through it"
            )
        self._check_requests()

    def _check_requests(self) -> None:
        for origin in self.cors_origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                raise ConfigurationError(
                    f"{origin!r} is not an origin such as https://chat.example, without a path"
                )
        if self.root_path:
            _check_path("root_path", self.root_path, "/team")
        for path in self.health_paths:
            _check_path("health_paths", path, "/ping")
        for header in self.caller_headers:
            check_header(header)
        if self.context_header:
            check_header(self.context_header)


def _check_path(option: str, path: str, example: str) -> None:
    if not _PATH.fullmatch(path):
        raise ConfigurationError(
            f"{option}: {path!r} is not a path such as {example}, with a slash at its start but "
            "not at its end"
        )


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """One of several targets, with a name and description for its card.

    Attributes:
        target: As for `build_app`.
        name: The agent's name; by default its key in the mapping.
        description: The agent's description; by default the target's own.
        card: Fields of its card that replace those derived from the target.

    Raises:
        ConfigurationError: A value has the wrong type.
    """

    target: object
    name: str | None = None
    description: str | None = None
    card: Card | None = None

    def __post_init__(self) -> None:
        check_fields(self)
