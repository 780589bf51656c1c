"""Agno's variants of A2A: calls Agno's servers and serves its clients.

`RemoteAgent("http://host:7777/a2a/agents/my-agent")` works as it is. Servers without
cards (Agno-Go, Agno before 2.3.26) are called with `RemoteAgent(agno_card(url, agent_id))`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    import httpx
    from a2a.client.transports.base import ClientTransport
    from a2a.types import AgentCard

    from a2a_adapters.dialects import DialectRoutes, DialectServer
    from a2a_adapters_agno.calling.card import agno_card

__all__ = ["agno_card"]

__getattr__ = lazy_names(__name__, {"agno_card": "calling.card"})

_DIALECT = "agno"

_LIKE_AGNO = re.compile(r"agno|:7777\b|/a2a(/|$)")
"""Default port and path of Agno's servers."""


@hookimpl
def a2a_routes(dialect: object, server: DialectServer) -> DialectRoutes | None:
    """Return the routes for Agno's clients."""
    if dialect != _DIALECT:
        return None
    from a2a_adapters_agno.serving.routes import agno_routes  # noqa: PLC0415

    return agno_routes(server)


@hookimpl
def a2a_transport(card: AgentCard, url: str, http: httpx.AsyncClient) -> ClientTransport | None:
    """Return the transport for an Agno server, recognised by the URL in its card."""
    from a2a_adapters_agno.calling.card import addresses_of  # noqa: PLC0415

    addresses = addresses_of(card, url)
    if addresses is None:
        return None
    from a2a_adapters_agno.calling.transport import AgnoTransport  # noqa: PLC0415

    return AgnoTransport(http, card, addresses)


@hookimpl
def a2a_card_hint(url: str) -> str | None:
    """Return a hint at the location of Agno's cards."""
    if not _LIKE_AGNO.search(url):
        return None
    return (
        "an Agno server has a card per agent, so pass the agent's URL, such as "
        "http://host:7777/a2a/agents/my-agent; for Agno-Go, which has no cards, create one with "
        "a2a_adapters_agno.agno_card"
    )
