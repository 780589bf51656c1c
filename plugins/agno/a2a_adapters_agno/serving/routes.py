"""Routes of the dialect for all served agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from a2a_adapters.dialects import DialectRoutes
from a2a_adapters_agno.serving.at_root import RootEndpoint
from a2a_adapters_agno.serving.per_agent import METHODS, AgentEndpoint

if TYPE_CHECKING:
    from starlette.requests import Request

    from a2a_adapters.dialects import DialectServer
    from a2a_adapters.plugin import AgentDescription

_AGENT = "/a2a/agents/{agent_id}"
_CARD = "/.well-known/agent-card.json"


def agno_routes(server: DialectServer) -> DialectRoutes:
    """Return the routes for the served agents."""
    root, every = RootEndpoint(server), AgentEndpoint(server)

    async def card(request: Request) -> Response:
        agent_id = request.path_params["agent_id"]
        agent = server.agents.get(agent_id)
        if agent is None:
            return JSONResponse({"detail": "Agent not found"}, 404)
        url = f"{server.url(request.scope)}/a2a/agents/{agent_id}/v1/message:stream"
        return JSONResponse(_card(agent_id, agent.about, url))

    by_method = [
        Route(
            f"{_AGENT}/v1/{method.replace('/', ':')}",
            AgentEndpoint(server, [method]).answer,
            methods=["POST"],
        )
        for method in METHODS
    ]
    return DialectRoutes(
        cards=[Route(_AGENT + _CARD, card)],
        calls=[
            Route("/a2a/message/send", root.send, methods=["POST"]),
            Route("/a2a/message/stream", root.stream, methods=["POST"]),
            *by_method,
            # Used by Agno's own client in JSON-RPC mode.
            *(Route(_AGENT + slash, every.answer, methods=["POST"]) for slash in ("", "/")),
        ],
        refusal=lambda status, message: (status, {"detail": message}),
    )


def _card(agent_id: str, about: AgentDescription, url: str) -> dict[str, Any]:
    """Return an agent's card in Agno's format, with the URL of its streams."""
    return {
        "capabilities": {
            "pushNotifications": False,
            "stateTransitionHistory": False,
            "streaming": True,
        },
        "defaultInputModes": list(about.input_modes),
        "defaultOutputModes": list(about.output_modes),
        "description": about.description,
        "name": about.name,
        "preferredTransport": "JSONRPC",
        "protocolVersion": "0.3.0",
        "skills": [
            {
                "description": about.description,
                "examples": [example for skill in about.skills for example in skill.examples],
                "id": agent_id,
                "name": about.name,
                "tags": ["agno"],
            }
        ],
        "supportsAuthenticatedExtendedCard": False,
        "url": url,
        "version": about.version,
    }
