"""Lists of a server's agents: for people at `/agents`, and as an AI Catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters.protocol.card import WELL_KNOWN_PATHS
from a2a_adapters.protocol.catalog import CARD_TYPE, CATALOG_PATH, CATALOG_TYPE

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.requests import Request
    from starlette.responses import Response

    from a2a_adapters.serving.agents import ServedAgent


class Catalog:
    """What a server serves.

    Args:
        agents: Its agents.
    """

    def __init__(self, agents: Collection[ServedAgent]) -> None:
        self._agents = agents

    def routes(self) -> list[Route]:
        """Return the routes of both lists, which are for everybody, as the cards are."""
        return [Route("/agents", self._list), Route(CATALOG_PATH, self._catalog)]

    async def _list(self, request: Request) -> Response:
        agents = [
            {
                "name": agent.about.name,
                "description": agent.about.description,
                "url": f"{address}/",
                "card": address + WELL_KNOWN_PATHS[0],
            }
            for agent in self._agents
            if (address := agent.address.of(request.scope))
        ]
        return JSONResponse({"agents": agents})

    async def _catalog(self, request: Request) -> Response:
        entries = [
            {
                "identifier": address,
                "displayName": agent.about.name,
                "description": agent.about.description,
                "version": agent.about.version,
                "mediaType": CARD_TYPE,
                "type": CARD_TYPE,  # its name in drafts since
                "url": address + WELL_KNOWN_PATHS[0],
            }
            for agent in self._agents
            if (address := agent.address.of(request.scope))
        ]
        return JSONResponse({"specVersion": "1.0", "entries": entries}, media_type=CATALOG_TYPE)
