"""The connection to an agent for one command (a2a-cli 0.2, section 13)."""

from __future__ import annotations

import shlex
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from a2a.client import ClientCallContext
from a2a.compat.v0_3.versions import is_legacy_version
from a2a.extensions.common import HTTP_EXTENSION_HEADER
from a2a.types import AgentCard, GetTaskRequest

from a2a_adapters import RemoteRefusedError
from a2a_adapters.calling.card import parse_card
from a2a_adapters.calling.connection import Connections
from a2a_adapters.calling.failures import reraise, retried, translate
from a2a_adapters.calling.options import RemoteOptions
from a2a_adapters_client.credentials import Credentials
from a2a_adapters_client.reference import find_card

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
    from typing import TypeVar

    import httpx
    from a2a.client import Client
    from a2a.types import Task

    from a2a_adapters_client.access import Access

    T = TypeVar("T")

_RETRIES = 3
_VERSION_NOT_SUPPORTED = -32009


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that a command talks to.

    Attributes:
        card: Its card, as far as it is used: the interfaces of the version that is spoken.
        client: What calls it.
        context: The extensions that are asked for.
        poll_interval: How many seconds to wait before asking for a task again.
    """

    card: AgentCard
    client: Client
    context: ClientCallContext | None
    poll_interval: float

    async def call(self, operation: Callable[[], Awaitable[T]]) -> T:
        """Return what an operation returns.

        Raises:
            RemoteAgentError: It fails.
        """
        try:
            return await operation()
        except Exception as error:
            reraise(error, translate(error, self.card))

    async def task(self, task_id: str, history: int | None = None) -> Task:
        """Return a task as it is now.

        Raises:
            RemoteAgentError: The agent does not know it, or does not answer.
        """
        request = GetTaskRequest(id=task_id)
        if history is not None:
            request.history_length = history
        return await self.call(
            lambda: retried(lambda: self.client.get_task(request, context=self.context), _RETRIES)
        )


@asynccontextmanager
async def connected(access: Access, *, streaming: bool = True) -> AsyncGenerator[Agent]:
    """Connect to the agent of the command line.

    Args:
        access: The options.
        streaming: Whether streams are used where the agent has them.

    Raises:
        RemoteAgentError: It has no card, or does not support the version that was asked for.
    """
    options = remote_options(access)
    credentials = Credentials(access, options)
    found = await find_card(access.agent_card, credentials, options)
    full = parse_card(found.content, access.agent_card)
    credentials.card = full
    card = _spoken(full, access.a2a_version)
    card.capabilities.streaming = card.capabilities.streaming and streaming
    options = remote_options(access, _bindings(card, access.transport or []))
    if access.transport:
        options = replace(options, trusted_hosts=_own_addresses(card, found.origin))
    auth = credentials if credentials.is_needed(found.url) else None
    origin = found.origin if credentials.is_given else found.url  # a login knows whose it is
    connections = Connections(found.url, card, auth, options, origin)
    try:
        client = (await connections.get()).client
        yield Agent(card, client, _context(access.extension or []), access.poll_interval)
    finally:
        await connections.aclose()


def remote_options(access: Access, bindings: Sequence[str] = ()) -> RemoteOptions:
    """Return the limits and choices of the command line."""
    return RemoteOptions(
        timeout=access.timeout,
        connect_timeout=min(access.timeout, 10),
        retries=_RETRIES if bindings else 0,
        bindings=bindings,
        tls=access.tls,
    )


def _spoken(card: AgentCard, version: str) -> AgentCard:
    """Return a card with the interfaces of one version only.

    Args:
        card: The agent's card.
        version: The version that was asked for; "" means 1.x, or 0.3 if the agent has no newer one.

    Raises:
        RemoteRefusedError: The agent does not support the version that was asked for.
    """
    every = card.supported_interfaces
    if version:
        kept = [each for each in every if each.protocol_version.startswith(version)]
    else:
        kept = [each for each in every if not is_legacy_version(each.protocol_version)]
        kept = kept or list(every)
    if not kept:
        offered = sorted({each.protocol_version for each in every})
        raise RemoteRefusedError(
            f"the agent supports A2A {', '.join(offered)}, not {version}; "
            f"give --a2a-version {shlex.quote(offered[-1])}, or leave the option out",
            code=_VERSION_NOT_SUPPORTED,
        )
    spoken = AgentCard()
    spoken.CopyFrom(card)
    del spoken.supported_interfaces[:]
    spoken.supported_interfaces.extend(kept)
    return spoken


def _bindings(card: AgentCard, wanted: Sequence[str]) -> list[str]:
    """Return the bindings to use, the preferred one first."""
    has_grpc = find_spec("grpc") is not None
    offered = [each.protocol_binding for each in card.supported_interfaces]
    usable = [each for each in offered if each != "GRPC" or has_grpc]
    return [*wanted, *usable]


def _own_addresses(card: AgentCard, url: httpx.URL | None) -> list[str]:
    """Return the servers of a card at the agent's own host: they are trusted if asked for."""
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
