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

    from a2a_adapters.contract.adapter import AgentDescription
    from a2a_adapters.serving.card import Address


class Catalog:
    """What a server serves.

    Args:
        agents: Its agents, each with where it is.
    """

    def __init__(self, agents: Collection[tuple[AgentDescription, Address]]) -> None:
        self._agents = agents

    def routes(self) -> list[Route]:
        """Return the routes of both lists, which are for everybody, as the cards are."""
        return [Route("/agents", self._list), Route(CATALOG_PATH, self._catalog)]

    async def _list(self, request: Request) -> Response:
        agents = [
            {
                "name": about.name,
                "description": about.description,
                "url": f"{address}/",
                "card": address + WELL_KNOWN_PATHS[0],
            }
            for about, place in self._agents
            if (address := place.of(request.scope))
        ]
        return JSONResponse({"agents": agents})

    async def _catalog(self, request: Request) -> Response:
        entries = [
            {
                "identifier": address,
                "displayName": about.name,
                "description": about.description,
                "version": about.version,
                "mediaType": CARD_TYPE,
                "type": CARD_TYPE,  # its name in drafts since
                "url": address + WELL_KNOWN_PATHS[0],
            }
            for about, place in self._agents
            if (address := place.of(request.scope))
        ]
        return JSONResponse({"specVersion": "1.0", "entries": entries}, media_type=CATALOG_TYPE)
