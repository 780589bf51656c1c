"""Routes of the dialect: card and endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from a2a_adapters.dialects import DialectRoutes
from a2a_adapters_omniroute.serving.calls import DEFAULT_SKILL
from a2a_adapters_omniroute.serving.endpoint import OmniRouteEndpoint
from a2a_adapters_omniroute.serving.refusals import refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from a2a_adapters import Skill
    from a2a_adapters.dialects import DialectAgent, DialectServer
    from a2a_adapters_omniroute.serving.dialect import OmniRouteDialect

_CARD = "/.well-known/agent.json"
_ENDPOINT = "/a2a"


def omniroute_routes(dialect: OmniRouteDialect, server: DialectServer) -> DialectRoutes:
    """Return the routes for the served agents.

    The card's path differs from that of A2A 0.3 and 1.0, so both can be served.
    """
    skills = skills_of(server.agents)
    endpoint = OmniRouteEndpoint(dialect, server, skills)

    async def card(request: Request) -> Response:
        url = server.url(request.scope) + _ENDPOINT
        return JSONResponse(_card(server.agents, url))

    return DialectRoutes(
        cards=[Route(_CARD, card)],
        calls=[
            Route(f"{_ENDPOINT}{slash}", endpoint.answer, methods=["POST"]) for slash in ("", "/")
        ],
        refusal=refusal,
    )


def skills_of(agents: Mapping[str, DialectAgent]) -> dict[str, DialectAgent]:
    """Return the agents by skill: their ids, their skills, and the default skill for the first.

    If several agents have the same skill, the first one gets it.
    """
    first = next(iter(agents.values()))
    skills = {**agents, DEFAULT_SKILL: agents.get(DEFAULT_SKILL, first)}
    for agent in agents.values():
        for skill in agent.about.skills:
            skills.setdefault(skill.id, agent)
    return skills


def _card(agents: Mapping[str, DialectAgent], url: str) -> dict[str, Any]:
    abouts = [agent.about for agent in agents.values()]
    return {
        "name": ", ".join(about.name for about in abouts),
        "description": "\n".join(about.description for about in abouts),
        "url": url,
        "version": abouts[0].version,
        "capabilities": {"streaming": True, "pushNotifications": False},
        "skills": _listed(agents),
        "authentication": {"schemes": ["bearer"], "apiKeyHeader": "Authorization"},
    }


def _listed(agents: Mapping[str, DialectAgent]) -> list[dict[str, Any]]:
    """Return the skills for the card, including each agent as a skill under its id."""
    own = {s.id: s for agent in agents.values() for s in reversed(agent.about.skills)}
    return [
        _skill(skill_id, own[skill_id])
        if skill_id in own and skill_id not in agents
        else {
            "id": skill_id,
            "name": agent.about.name,
            "description": agent.about.description,
            "tags": [skill_id],
            "examples": [],
        }
        for skill_id, agent in skills_of(agents).items()
    ]


def _skill(skill_id: str, skill: Skill) -> dict[str, Any]:
    return {
        "id": skill_id,
        "name": skill.name,
        "description": skill.description,
        "tags": list(skill.tags),
        "examples": list(skill.examples),
    }
