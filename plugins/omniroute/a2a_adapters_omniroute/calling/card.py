"""Where a gateway is, and what makes one known."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from a2a.types import AgentCapabilities, AgentCard, AgentInterface

from a2a_adapters import BearerAuth, ConfigurationError, HeadersAuth, RemoteAgent, RemoteOptions
from a2a_adapters.dialects import agent_url

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import httpx

    Secret: TypeAlias = str | Callable[[], str | Awaitable[str]]

__all__ = ["CARD", "card_address", "endpoint_of", "gateway_agent", "is_gateway", "omniroute_card"]

CARD = "/.well-known/agent.json"
_ENDPOINT = "/a2a"


def is_gateway(card: AgentCard, url: str) -> bool:
    """Tell whether a card is a gateway's; A2A requires input modes of every card."""
    return url.rstrip("/").endswith(_ENDPOINT) and not card.default_input_modes


def endpoint_of(url: str) -> str:
    """Return where a gateway is called, by its address, its endpoint's, or its card's."""
    base = url.removesuffix(CARD).rstrip("/").removesuffix(_ENDPOINT).rstrip("/")
    return base + _ENDPOINT


def card_address(url: str) -> str | None:
    """Return where the card is of the gateway that has its endpoint at `url`."""
    base = url.rstrip("/")
    return base.removesuffix(_ENDPOINT) + CARD if base.endswith(_ENDPOINT) else None


def omniroute_card(url: str) -> AgentCard:
    """Return a card for a gateway, without asking it: `RemoteAgent(omniroute_card(...))`.

    An address alone does as well, unless agents of A2A are served there, too.

    Args:
        url: The gateway's address, with or without `/a2a`.

    Raises:
        ConfigurationError: The address is none.
    """
    endpoint = endpoint_of(str(agent_url(url)))
    return AgentCard(
        name=endpoint.removesuffix(_ENDPOINT),
        description="An OmniRoute gateway: it sends each message to the best model.",
        version="0",
        supported_interfaces=[
            AgentInterface(url=endpoint, protocol_binding="JSONRPC", protocol_version="0.3")
        ],
        capabilities=AgentCapabilities(streaming=True),
    )


def gateway_agent(
    agent: str | AgentCard,
    api_key: Secret,
    timeout: float,
    max_retries: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> RemoteAgent:
    """Return a gateway as a remote agent that answers within `timeout` seconds.

    Args:
        agent: The gateway's address or card.
        api_key: Its key; if there are `headers`, as text.
        timeout: How long an answer may take, in seconds.
        max_retries: How often a call is made again whose answer was lost or 503. By default never:
            HTTP 503 mostly means that A2A is switched off, and a call may cost.
        headers: Headers of every request.

    Raises:
        ConfigurationError: The address or a number is wrong.
    """
    if timeout <= 0:
        raise ConfigurationError("timeout must be positive")
    if (retries := max_retries or 0) < 0:
        raise ConfigurationError(f"max_retries is a number from 0 on, not {retries}")
    options = RemoteOptions(timeout=timeout, idle_timeout=2 * timeout, retries=retries)
    auth: httpx.Auth | None = BearerAuth(api_key) if api_key else None
    if headers:
        key = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        auth = HeadersAuth({**headers, **key})
    return RemoteAgent(agent, auth=auth, options=options)
