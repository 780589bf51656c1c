"""Connection of a command to an agent (a2a-cli 0.2, section 13)."""

from __future__ import annotations

import shlex
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from a2a.client import ClientCallContext
from a2a.extensions.common import HTTP_EXTENSION_HEADER
from a2a.types import AgentCard, GetTaskRequest
from a2a_adapters_check.host import Host, as_web_url

from a2a_adapters import OutboundPolicy, RemoteAgent, RemoteAnswerError, RemoteRefusedError
from a2a_adapters.calling.card import InvalidCardError, agent_url, parse_card
from a2a_adapters.calling.connection import Connections
from a2a_adapters.calling.failures import reraise, retried, translate
from a2a_adapters.calling.interfaces import is_old_version
from a2a_adapters.calling.options import RemoteOptions
from a2a_adapters_client.credentials import Credentials
from a2a_adapters_client.reference import find_card

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
    from typing import TypeVar

    import httpx
    from a2a.client import Client
    from a2a.types import Task

    from a2a_adapters.contract.card import AgentDescription
    from a2a_adapters_client.access import Access

    T = TypeVar("T")

_RETRIES = 3
_VERSION_NOT_SUPPORTED = -32009


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent of a command.

    Attributes:
        card: Its card, limited to the interfaces of the selected version.
        client: The client that calls it.
        context: The requested extensions.
        poll_interval: Seconds between polls of a task.
    """

    card: AgentCard
    client: Client
    context: ClientCallContext | None
    poll_interval: float

    async def call(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Return the result of an operation.

        Raises:
            RemoteAgentError: The operation fails.
        """
        try:
            return await operation()
        except Exception as error:
            reraise(error, translate(error, self.card))

    async def task(self, task_id: str, history: int | None = None) -> Task:
        """Return the current state of a task.

        Raises:
            RemoteAgentError: The task is unknown, or the agent does not answer.
        """
        request = GetTaskRequest(id=task_id)
        if history is not None:
            request.history_length = history
        return await self.call(
            lambda: retried(lambda: self.client.get_task(request, context=self.context), _RETRIES)
        )


@asynccontextmanager
async def connected(access: Access, *, streaming: bool = True) -> AsyncGenerator[Agent]:
    """Connect to the agent named on the command line.

    Args:
        access: The options.
        streaming: Whether to use streams if the agent supports them.

    Raises:
        RemoteAgentError: The card is missing, or the requested version unsupported.
    """
    options = remote_options(access)
    credentials = Credentials(access, options)
    found = await find_card(access.agent_card, credentials, options)
    full = parse_card(found.content, access.agent_card)
    credentials.card = full
    card = _spoken(full, access.a2a_version)
    options = remote_options(access, _bindings(card, access.transport or []))
    card.capabilities.streaming = card.capabilities.streaming and streaming and options.stream
    if access.transport:
        options = replace(options, trusted_hosts=_own_addresses(card, found.origin))
    auth = credentials if credentials.is_needed(found.url) else None
    origin = found.origin if credentials.is_given else found.url  # logins are bound to an origin
    connections = Connections(found.url, card, auth, options, origin)
    try:
        client = (await connections.get()).client
        yield Agent(card, client, _context(access.extension or []), access.poll_interval)
    finally:
        await connections.aclose()


async def find_agent(access: Access) -> tuple[RemoteAgent, AgentDescription]:
    """Return the agent at a URL or `HOST#NAME`, and its description.

    Raises:
        ConfigurationError: The reference is not a URL.
        NoCardError: No card was found; the hint lists the host's agents.
        RemoteAgentError: The host does not answer or requires credentials.
    """
    options = replace(remote_options(access), progress=True, retries=_RETRIES)
    credentials = Credentials(access, options)
    typed = agent_url(as_web_url(access.agent_card))
    auth = credentials if credentials.is_needed(typed) else None
    host = Host(access.agent_card, auth, options)
    url = str(await host.agent())
    agent = RemoteAgent(url, auth=auth, options=options, named_by=host.address)
    try:
        about = await agent.describe()
    except InvalidCardError:
        raise
    except RemoteAnswerError as error:
        raise await host.no_card(str(error)) from error
    credentials.card = await agent.card()
    return agent, about


def remote_options(access: Access, bindings: Sequence[str] = ()) -> RemoteOptions:
    """Return the client options given on the command line."""
    return RemoteOptions(
        timeout=access.timeout,
        connect_timeout=min(access.timeout, 10),
        retries=_RETRIES if bindings else 0,
        bindings=bindings,
        stream=not access.no_stream,
        accepted_output_modes=access.output_mode or (),
        outbound=OutboundPolicy(allowed_hosts=frozenset(access.allow_host or ())),
        proxy=access.proxy,
        tls=access.tls,
    )


def _spoken(card: AgentCard, version: str) -> AgentCard:
    """Return a card limited to the interfaces of one version.

    Args:
        card: The agent's card.
        version: The requested version; "" means 1.x, or 0.3 for older agents.

    Raises:
        RemoteRefusedError: The agent does not support the requested version.
    """
    every = card.supported_interfaces
    if version:
        is_old = is_old_version(version)  # 0.2 and 0.3 are called alike
        kept = [
            each
            for each in every
            if not each.protocol_version
            or each.protocol_version.startswith(version)
            or (is_old and is_old_version(each.protocol_version))
        ]
    else:
        kept = [each for each in every if not is_old_version(each.protocol_version)]
        kept = kept or list(every)
    if not kept:
        offered = sorted({each.protocol_version for each in every})
        raise RemoteRefusedError(
            f"the agent supports A2A {', '.join(offered)}, not {version}; "
            f"use --a2a-version {shlex.quote(offered[-1])} or omit the option",
            code=_VERSION_NOT_SUPPORTED,
        )
    spoken = AgentCard()
    spoken.CopyFrom(card)
    del spoken.supported_interfaces[:]
    spoken.supported_interfaces.extend(kept)
    for each in spoken.supported_interfaces:
        each.protocol_version = each.protocol_version or version
    return spoken


def _bindings(card: AgentCard, wanted: Sequence[str]) -> list[str]:
    """Return the bindings to use, in order of preference."""
    has_grpc = find_spec("grpc") is not None
    offered = [each.protocol_binding for each in card.supported_interfaces]
    usable = [each for each in offered if each != "GRPC" or has_grpc]
    return [*wanted, *usable]


def _own_addresses(card: AgentCard, url: httpx.URL | None) -> list[str]:
    """Return a card's interface hosts that equal the agent's host and are therefore trusted."""
    parsed = [
        urlsplit(each.url if "://" in each.url else f"//{each.url}")
        for each in (card.supported_interfaces)
    ]
    host = url.host if url else None
    return [
        f"{each.hostname}:{each.port}" for each in parsed if each.port and each.hostname == host
    ]


def _context(extensions: Sequence[str]) -> ClientCallContext | None:
    if not extensions:
        return None
    return ClientCallContext(service_parameters={HTTP_EXTENSION_HEADER: ",".join(extensions)})
