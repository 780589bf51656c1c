"""OmniRoute's variant of A2A: calls gateways and serves OmniRoute's clients.

`RemoteAgent("http://localhost:20128")` calls a gateway as it is. This package adds
`OmniRouteClient` with a gateway's own methods, and gateways as models: `OmniRouteA2A` and
`OmniRouteChatModel` for LangChain, `OmniRouteLLM` for CrewAI, `OmniRouteChatCompletionClient` for
AutoGen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    import httpx
    from a2a.client.transports.base import ClientTransport
    from a2a.types import AgentCard

    from a2a_adapters.dialects import DialectRoutes, DialectServer
    from a2a_adapters_omniroute.autogen import OmniRouteChatCompletionClient
    from a2a_adapters_omniroute.calling.card import omniroute_card
    from a2a_adapters_omniroute.calling.client import OmniRouteClient
    from a2a_adapters_omniroute.calling.reply import OmniRouteCard, OmniRouteReply, OmniRouteTask
    from a2a_adapters_omniroute.calling.routing import QUOTA_MANAGEMENT, SMART_ROUTING, Routing
    from a2a_adapters_omniroute.crewai import OmniRouteLLM
    from a2a_adapters_omniroute.errors import (
        OmniRouteAnswerError,
        OmniRouteAuthError,
        OmniRouteBudgetError,
        OmniRouteCancelledError,
        OmniRouteError,
        OmniRouteNotEnabledError,
        OmniRouteProviderError,
        OmniRouteRefusedError,
        OmniRouteTaskFinishedError,
        OmniRouteTaskNotFoundError,
        OmniRouteUnknownSkillError,
    )
    from a2a_adapters_omniroute.langchain import OmniRouteA2A, OmniRouteChatModel
    from a2a_adapters_omniroute.serving.dialect import OmniRouteDialect
    from a2a_adapters_omniroute.serving.refusals import NO_PROVIDER, OVER_BUDGET

__all__ = [
    "NO_PROVIDER",
    "OVER_BUDGET",
    "QUOTA_MANAGEMENT",
    "SMART_ROUTING",
    "OmniRouteA2A",
    "OmniRouteAnswerError",
    "OmniRouteAuthError",
    "OmniRouteBudgetError",
    "OmniRouteCancelledError",
    "OmniRouteCard",
    "OmniRouteChatCompletionClient",
    "OmniRouteChatModel",
    "OmniRouteClient",
    "OmniRouteDialect",
    "OmniRouteError",
    "OmniRouteLLM",
    "OmniRouteNotEnabledError",
    "OmniRouteProviderError",
    "OmniRouteRefusedError",
    "OmniRouteReply",
    "OmniRouteTask",
    "OmniRouteTaskFinishedError",
    "OmniRouteTaskNotFoundError",
    "OmniRouteUnknownSkillError",
    "Routing",
    "omniroute_card",
]

# These import httpx and a2a-sdk, or a framework: loaded on first use.
__getattr__ = lazy_names(
    __name__,
    {
        "OmniRouteChatCompletionClient": "autogen",
        "omniroute_card": "calling.card",
        "OmniRouteClient": "calling.client",
        **dict.fromkeys(("OmniRouteCard", "OmniRouteReply", "OmniRouteTask"), "calling.reply"),
        **dict.fromkeys(("QUOTA_MANAGEMENT", "SMART_ROUTING", "Routing"), "calling.routing"),
        "OmniRouteLLM": "crewai",
        **dict.fromkeys((name for name in __all__ if name.endswith("Error")), "errors"),
        **dict.fromkeys(("OmniRouteA2A", "OmniRouteChatModel"), "langchain"),
        "OmniRouteDialect": "serving.dialect",
        **dict.fromkeys(("NO_PROVIDER", "OVER_BUDGET"), "serving.refusals"),
    },
)

_DIALECT = "omniroute"


@hookimpl
def a2a_routes(dialect: object, server: DialectServer) -> DialectRoutes | None:
    """Return the routes for OmniRoute's clients."""
    from a2a_adapters_omniroute.serving.dialect import OmniRouteDialect  # noqa: PLC0415

    if dialect == _DIALECT:
        dialect = OmniRouteDialect()
    if not isinstance(dialect, OmniRouteDialect):
        return None
    from a2a_adapters_omniroute.serving.routes import omniroute_routes  # noqa: PLC0415

    return omniroute_routes(dialect, server)


@hookimpl
def a2a_transport(
    card: AgentCard, url: str, http: httpx.AsyncClient, address: str
) -> ClientTransport | None:
    """Return the transport for a gateway at the URL where it was found, not that in its card."""
    from a2a_adapters_omniroute.calling.card import endpoint_of, is_gateway  # noqa: PLC0415

    if not is_gateway(card, url):
        return None
    from a2a_adapters_omniroute.calling.gateway import OmniRouteTransport  # noqa: PLC0415

    return OmniRouteTransport(http, card, endpoint_of(address or url))


@hookimpl
def a2a_card_address(url: str) -> str | None:
    """Return the URL of the card for a gateway endpoint."""
    from a2a_adapters_omniroute.calling.card import card_address  # noqa: PLC0415

    return card_address(url)
