"""URLs and recognition of gateways."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from a2a.types import AgentCapabilities, AgentCard, AgentInterface

from a2a_adapters import BearerAuth, HeadersAuth, RemoteAgent, RemoteOptions
from a2a_adapters.dialects import agent_url
from a2a_adapters.plugin import check_arguments

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    import httpx

    Secret: TypeAlias = str | Callable[[], str | Awaitable[str]]

__all__ = ["CARD", "card_address", "endpoint_of", "gateway_agent", "is_gateway", "omniroute_card"]

CARD = "/.well-known/agent.json"
_ENDPOINT = "/a2a"


def is_gateway(card: AgentCard, url: str) -> bool:
    """Return whether a card is a gateway's, which lacks the input modes required by A2A."""
    return url.rstrip("/").endswith(_ENDPOINT) and not card.default_input_modes


def endpoint_of(url: str) -> str:
    """Return a gateway's endpoint for its base URL, endpoint or card URL."""
    base = url.removesuffix(CARD).rstrip("/").removesuffix(_ENDPOINT).rstrip("/")
    return base + _ENDPOINT


def card_address(url: str) -> str | None:
    """Return the URL of the card for a gateway endpoint."""
    base = url.rstrip("/")
    return base.removesuffix(_ENDPOINT) + CARD if base.endswith(_ENDPOINT) else None


def omniroute_card(url: str) -> AgentCard:
    """Return a card for a gateway without a request: `RemoteAgent(omniroute_card(...))`.

    The URL alone suffices unless A2A agents are served there as well.

    Args:
        url: URL of the gateway, with or without `/a2a`.

    Raises:
        ConfigurationError: The URL is invalid.
    """
    endpoint = endpoint_of(str(agent_url(url)))
    return AgentCard(
        name=endpoint.removesuffix(_ENDPOINT),
        description="An OmniRoute gateway, which sends each message to the best model.",
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
        agent: URL or card of the gateway.
        api_key: Its key; a string if there are `headers`.
        timeout: Time limit for an answer in seconds.
        max_retries: Retries of a call whose answer was lost or 503. Default: none, because
            HTTP 503 usually means that A2A is disabled, and calls may cost money.
        headers: Headers of every request.

    Raises:
        ConfigurationError: The URL or a number is invalid.
    """
    check_arguments(gateway_agent, locals(), {"timeout"})
    options = RemoteOptions(timeout=timeout, idle_timeout=2 * timeout, retries=max_retries or 0)
    auth: httpx.Auth | None = BearerAuth(api_key) if api_key else None
    if headers:
        key = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        auth = HeadersAuth({**headers, **key})
    return RemoteAgent(agent, auth=auth, options=options)
