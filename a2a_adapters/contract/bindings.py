"""Protocol bindings that plugins add to JSON-RPC and HTTP+JSON of A2A 1.0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    import httpx
    from a2a.types import AgentCard


class Binding(Protocol):
    """A server that offers one agent over a protocol binding, on its own port.

    Attributes:
        name: The binding's name in logs, such as `gRPC`.
        protocol: The binding's name in cards, such as `GRPC`.
        port: The port it listens on.
    """

    name: str
    protocol: str
    port: int

    def url(self, http_url: str) -> str:
        """Return the address for the card of an agent at `http_url`, "" if that is unknown."""

    async def start(self) -> None:
        """Start listening.

        Raises:
            ListenError: The port is in use, or the host is not an address of this machine.
        """

    async def stop(self) -> None:
        """End the open calls and close. The agent's tasks have already ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteInterface:
    """One interface of a remote agent, and the resources for calling it.

    Attributes:
        protocol: The binding's name in the card.
        url: The interface's address in the card, which is untrusted input.
        is_old: Whether the interface supports only A2A 0.3.
        card: The agent's card.
        http: The HTTP client for the agent; its `auth` holds the credentials.
        origin: The only address that receives the credentials; None trusts every host in a card.
        options: The agent's `RemoteOptions`.
        closing: Closes the transport's resources, at the latest with the event loop.
    """

    protocol: str
    url: str
    is_old: bool
    card: AgentCard
    http: httpx.AsyncClient
    origin: httpx.URL | None
    options: Any
    closing: AsyncExitStack
