"""Cards of the foreign agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

CARD_PATH = "/.well-known/agent-card.json"
OLD_CARD_PATH = "/.well-known/agent.json"

CardBuilder = Callable[[str], AgentCard]
"""Builds an agent's card from the URL used by the client, without a trailing slash."""


def agent_card(
    url: str,
    *,
    streaming: bool = True,
    bindings: Sequence[str] = ("JSONRPC",),
    path: str = "",
    name: str = "Pong",
    description: str = "Answers ping with pong.",
) -> AgentCard:
    """Return the card of an A2A 1.0 agent, with bindings in order of preference.

    Args:
        url: URL of the card's host.
        streaming: Whether the card says that the agent streams.
        bindings: The bindings in the card.
        path: Appended to `url` for all bindings.
        name: The agent's name.
        description: The agent's description.
    """
    return AgentCard(
        name=name,
        description=description,
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=url + path, protocol_binding=binding, protocol_version="1.0")
            for binding in bindings
        ],
        capabilities=AgentCapabilities(streaming=streaming),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="pong", name="Pong", description="Says pong.", tags=["ping"])],
    )


def card_route(build: CardBuilder, path: str = CARD_PATH) -> Route:
    """Return the route of a card that contains the URL used by the client."""

    async def card(request: Request) -> Response:
        return JSONResponse(agent_card_to_dict(build(base_url(request))))

    return Route(path, card)


def base_url(request: Request) -> str:
    """Return the URL used by the client, without a trailing slash."""
    return str(request.base_url).rstrip("/")


def only(card: AgentCard, binding: str, version: str) -> AgentCard:
    """Return the card with one of its interfaces."""
    reduced = AgentCard()
    reduced.CopyFrom(card)
    reduced.ClearField("supported_interfaces")
    reduced.supported_interfaces.extend(
        interface
        for interface in card.supported_interfaces
        if (interface.protocol_binding, interface.protocol_version) == (binding, version)
    )
    return reduced
