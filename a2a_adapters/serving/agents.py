"""The agents of a server, each isolated from the others."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Literal, cast

from a2a.server.agent_execution import AgentExecutor
from starlette.routing import Mount, Route, Router

from a2a_adapters.bindings.http import HttpAgent, caller_of
from a2a_adapters.bindings.jsonrpc import JsonRpcEndpoint
from a2a_adapters.bindings.rest import rest_routes
from a2a_adapters.concurrency.threads import outliving_calls
from a2a_adapters.contract.card import AgentDescription, Card, Extension
from a2a_adapters.contract.checking import checked_options
from a2a_adapters.contract.dialect_routes import DialectAgent, DialectServer
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.events import HELD_TEXT_EXTENSION
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.executor.executor import AdapterExecutor
from a2a_adapters.observability.figures import ProcessFigures, Workers
from a2a_adapters.observability.loop import loop_lag
from a2a_adapters.protocol.card import build_card
from a2a_adapters.runtime import Runtime
from a2a_adapters.serving.discovery import Address, CardEndpoint, Catalog, ExtendedCard
from a2a_adapters.serving.entrance import Protection, mount, not_found
from a2a_adapters.serving.options import NamedTarget, ServerOptions
from a2a_adapters.serving.served_dialects import CONSOLE, ServedDialects, agent_id
from a2a_adapters.storage import open_storage

if TYPE_CHECKING:
    from a2a.types import AgentCard
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp

    from a2a_adapters.contract.bindings import Binding
    from a2a_adapters.runtime import StreamingHandler
    from a2a_adapters.security.rates import RequestRates
    from a2a_adapters.storage import Storage

_STORAGE_SECONDS = 3.0
"""Maximum time for the storage's last writes."""

_HELD = Extension(
    uri=HELD_TEXT_EXTENSION,
    description="Text is sent after the agent's guardrails have accepted it.",
    params={"held": True},
)
_UNCHECKED = Extension(
    uri=HELD_TEXT_EXTENSION,
    description="Text is sent before the agent's guardrails have checked it, and corrected later.",
    params={"held": False},
)
_V03_CARD_PATH = "/v1/card"
"""The path of the extended card in A2A 0.3, at which registries ask for the card."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,62}")


def as_executor(target: object, options: ServerOptions | None = None) -> AdapterExecutor:
    """Return `target` as an `AgentExecutor` for your own a2a-sdk server.

    Raises:
        NoAdapterError: No plugin can serve the target.
        TargetError: A plugin supports its type, but cannot serve this object.
    """
    options = checked_options(options, ServerOptions)
    adapter = installed_plugins().adapt(target)
    extensions = [each.uri for each in options.extensions]
    return AdapterExecutor(
        adapter,
        options.limits,
        options.redact,
        extensions,
        options.files,
        hold_text=options.hold_text,
    )


class ServedAgent:
    """A target with its executor, runtime and card.

    Raises:
        NoAdapterError: No plugin can serve the target.
        TargetError: A plugin supports its type, but cannot serve this object.
    """

    def __init__(
        self,
        named: NamedTarget,
        address: Address,
        options: ServerOptions,
        storage: Storage,
        rates: RequestRates,
    ) -> None:
        target = named.target
        self.executor: AgentExecutor = (
            target if isinstance(target, AgentExecutor) else as_executor(target, options)
        )
        has_adapter = isinstance(self.executor, AdapterExecutor)
        files = [options.files.extension] if options.files and has_adapter else []
        extensions = [*options.extensions, *files]
        card = _card_of(named)
        if isinstance(self.executor, AdapterExecutor):
            self.executor.name = card.name or ""
            if options.hold_text == "always" or self.executor.adapter.holds_text:
                extensions.append(_UNCHECKED if options.hold_text == "never" else _HELD)
        self.about = _describe(self.executor, card, extensions)
        self.address = address
        self._options = options
        self.storage = storage.of(address.name or self.about.name)
        self._deduplicates = storage.is_durable and options.task_store is None
        extend = options.extended_description
        self._previews = [options.preview] if options.preview else []
        runtime = Runtime(
            self.executor,
            build_card(
                self.about,
                address.of(None),
                push=options.push is not None,
                deduplicates=self._deduplicates,
            ),
            task_store=options.task_store,
            limits=options.limits,
            push=options.push,
            extended_card=ExtendedCard(self._card, self.about, extend, address) if extend else None,
            namespace=address.path if options.task_store else "",
            storage=self.storage,
            counts_changes=bool(self._previews),
        )
        storage.on_trouble(runtime.on_storage_trouble)
        served = runtime if options.task_store else self.storage.replicate(runtime)
        self.runtime = cast("StreamingHandler", served)
        self._rates = rates
        self.bindings = _bindings(self.runtime, options, rates)
        self.rpc: ASGIApp
        """The JSON-RPC endpoint, set by `routes`."""

    def routes(self, protection: Protection, *public: BaseRoute) -> list[BaseRoute]:
        """Return the agent's routes; all but the card's and the `public` ones are protected."""
        card = CardEndpoint(partial(self._card, self.about), self.address)
        options = self._options
        agent = HttpAgent(
            self.runtime, options.limits.answers_bytes, options.context_header, self._previews
        )
        rpc = JsonRpcEndpoint(agent)
        every = Router([Route("/", rpc, methods=["POST"]), *rest_routes(agent)], default=not_found)
        self.rpc = protection.of(rpc)
        return [
            Route("/", self.rpc, methods=["POST"]),  # first, as most requests use it
            Route("/rpc", self.rpc, methods=["POST"]),
            *public,
            *card.routes(also=() if options.extended_description else (_V03_CARD_PATH,)),
            Mount("", protection.of(every)),
        ]

    def _card(self, about: AgentDescription, url: str) -> AgentCard:
        options = self._options
        schemes = options.authentication.security_schemes() if options.authentication else {}
        card = build_card(
            about,
            url,
            # With the host by which the caller reached this server.
            [(each.protocol, each.url(url)) for each in self.bindings],
            security_schemes=schemes,
            has_extended=options.extended_description is not None,
            push=options.push is not None,
            deduplicates=self._deduplicates,
            previews=self._previews,
        )
        return options.card_signer(card) if options.card_signer else card

    async def start(self) -> None:
        """Open the adapter and recover orphaned tasks."""
        if isinstance(self.executor, AdapterExecutor):
            await self.executor.open(self.storage)
        self.storage.share(self._rates, "requests")
        await self.runtime.start()

    async def aclose(self) -> None:
        """End the runs, stop the bindings and close the adapter."""
        await self.runtime.aclose()
        for each in self.bindings:
            await each.stop()
        if isinstance(self.executor, AdapterExecutor):
            await self.executor.aclose()


class ServedAgents:
    """All agents of a server; the arguments are those of `build_app`.

    Raises:
        ConfigurationError: A name cannot be part of a URL, there are no agents, a signed card has
            no `url`, or no plugin supports a dialect.
    """

    def __init__(
        self,
        target: object,
        card: Card,
        url: str | None,
        options: ServerOptions,
        dialects: Sequence[object],
    ) -> None:
        if options.card_signer and not url:
            raise ConfigurationError(
                "a signed card needs the agent's public address (url=..., --url): otherwise the "
                "signature would vouch for any host that a client names"
            )
        self.is_draining = False
        self.storage = open_storage(options.storage, options.limits, bus=options.bus)
        self._root = Address(url or "", options.trust_forwarded)
        self.protection = Protection(options)
        if isinstance(target, Mapping):
            if card != Card():
                raise ConfigurationError(
                    "name, description and card apply to one agent; use NamedTarget for several"
                )
            self._agents = [self._make(key, item, options) for key, item in target.items()]
            if not self._agents:
                raise ConfigurationError("there is no agent to serve")
            if options.grpc_port is not None:
                raise ConfigurationError(
                    "gRPC supports one agent per port; serve the agents separately"
                )
        else:
            named = NamedTarget(target, card=card)
            rates = self.protection.rates
            self._agents = [ServedAgent(named, self._root, options, self.storage, rates)]
        # An object with settings of the console has its name as `dialect`.
        spoken = [getattr(each, "dialect", each) for each in dialects]
        if options.console and CONSOLE not in spoken:
            dialects = [CONSOLE, *dialects]
        if options.files:
            dialects = [options.files, *dialects]
        if options.metrics:
            dialects = [self._figures(options.metrics), *dialects]
        self.dialects = ServedDialects(dialects, self._as_dialect_server(), self.protection)

    def __iter__(self) -> Iterator[ServedAgent]:
        return iter(self._agents)

    def routes(self, *public: BaseRoute) -> list[BaseRoute]:
        """Return the routes of all agents, and `public`; the only agent is also at the root."""
        lists = Catalog([(agent.about, agent.address) for agent in self._agents]).routes()
        mounts = (
            mount(each.address.path, each.routes(self.protection))
            for each in self._agents
            if each.address.path
        )
        routes = [*self.dialects.routes(), *lists, *public, *chain(*mounts)]
        if len(self._agents) == 1:
            return self._agents[0].routes(self.protection, *routes)
        return routes

    def calls(self) -> dict[str, ASGIApp]:
        """Return the endpoints of frequent POST requests by path; call `routes` before."""
        return {"/": self._agents[0].rpc} if len(self._agents) == 1 else {}

    def _figures(self, metrics: Literal[True] | Workers) -> ProcessFigures:
        return ProcessFigures(
            {agent.address.name or agent.about.name: agent.runtime.figures for agent in self},
            outliving_calls,
            loop_lag,
            self.storage.figures,
            None if metrics is True else metrics,
        )

    def _as_dialect_server(self) -> DialectServer:
        agents = {
            agent.address.name or agent_id(agent.about.name): DialectAgent(
                agent.about,
                agent.runtime,
                agent.runtime.updates,
                agent.storage,
                f"{agent.address.path}/",
            )
            for agent in self._agents
        }
        return DialectServer(agents, self._root.of, caller_of, self.is_busy)

    def is_busy(self) -> bool:
        """Return whether messages are being answered, or wait for that."""
        return any(agent.runtime.figures.messages for agent in self._agents)

    async def start(self) -> None:
        """Connect to the storage, recover orphaned tasks, and listen on the ports of bindings."""
        await self.storage.start()
        for agent in self._agents:
            await agent.start()
        for agent in self._agents:
            for each in agent.bindings:
                await each.start()

    async def drain(self) -> None:
        """Refuse new messages and end the runs."""
        self.is_draining = True
        await self.dialects.aclose()
        await asyncio.gather(*(agent.runtime.aclose() for agent in self._agents))

    def hurry(self) -> None:
        """Give running tasks no more time to finish, once they are being drained."""
        for agent in self._agents:
            agent.runtime.hurry()

    async def aclose(self) -> None:
        """Close the agents and the storage."""
        self.is_draining = True
        await self.dialects.aclose()
        await asyncio.gather(*(agent.aclose() for agent in self._agents))
        await self.storage.aclose(_STORAGE_SECONDS)

    def _make(self, key: object, item: object, options: ServerOptions) -> ServedAgent:
        address = self._address_of(key)
        each = item if isinstance(item, NamedTarget) else NamedTarget(item)
        named = replace(each, name=_card_of(each).name or address.name)
        return ServedAgent(named, address, options, self.storage, self.protection.rates)

    def _address_of(self, key: object) -> Address:
        if not isinstance(key, str) or not _NAME.fullmatch(key):
            raise ConfigurationError(
                f"{key!r} cannot be an agent's name, which becomes part of its address: use at "
                "most 63 letters, digits and - . _ ~, starting with a letter or digit"
            )
        return replace(self._root, path=f"/agents/{key}")


def _card_of(named: NamedTarget) -> Card:
    """Return the card of a target, from its name and description, its given card, and itself."""
    said = Card(name=named.name or None, description=named.description or None)
    return said.over((named.card or Card()).over(Card.of(named.target)))


def _describe(
    executor: AgentExecutor, card: Card, extensions: Sequence[Extension]
) -> AgentDescription:
    if isinstance(executor, AdapterExecutor):
        about = executor.adapter.describe()
    else:
        kind = type(executor).__name__
        about = AgentDescription(name=kind, description=f"The agent {kind}.", input_modes=["*/*"])
    about = card.applied(about)
    return replace(about, extensions=[*about.extensions, *extensions])


def _bindings(
    runtime: StreamingHandler, options: ServerOptions, rates: RequestRates
) -> list[Binding]:
    """Return the servers of an agent's additional bindings."""
    found = installed_plugins().bindings(runtime, options, rates)
    if options.grpc_port is not None and not any(each.name == "gRPC" for each in found):
        raise ConfigurationError("grpc_port needs the plugin grpc, which is not loaded")
    return found
