"""The cards of the agents that are not ours."""

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
"""Builds the card of an agent from the address it was reached at, without a last slash."""


def agent_card(
    url: str,
    *,
    streaming: bool = True,
    bindings: Sequence[str] = ("JSONRPC",),
    path: str = "",
    name: str = "Pong",
    description: str = "Answers ping with pong.",
) -> AgentCard:
    """Return the card of an agent of A2A 1.0, its bindings in order of preference.

    Args:
        url: The address of the card's host.
        streaming: Whether the card says that the agent streams.
        bindings: The bindings it names.
        path: What follows `url` in the address of every binding.
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
    """Return the route of a card that names the address the client used."""

    async def card(request: Request) -> Response:
        return JSONResponse(agent_card_to_dict(build(base_url(request))))

    return Route(path, card)


def base_url(request: Request) -> str:
    """Return the address the client used, without a last slash."""
    return str(request.base_url).rstrip("/")
