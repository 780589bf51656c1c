"""Two agents: a planner, which calls a calendar on behalf of its caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters_jwt import JwtTokens
from a2a_adapters_oauth import TokenExchange
from login import SECRETS

from a2a_adapters import AgentRequest, RemoteAgent, ServerOptions, build_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp

EVENTS = {"ann": "dentist at 9", "ben": "flight at 11"}


async def calendar(request: AgentRequest) -> AsyncIterator[str]:
    """Read the caller's calendar."""
    caller = request.caller
    actor = caller.claims.get("act", {}).get("sub", "nobody")
    yield f"{EVENTS[caller.owner]} ({', '.join(sorted(caller.scopes))}, read through {actor})"


def calendar_app(login: str) -> ASGIApp:
    """Return the calendar's server, for tokens with its audience and scope."""
    tokens = JwtTokens(f"{login}/keys", issuer=login, audience="calendar", scopes=["calendar.read"])
    return build_app(calendar, options=ServerOptions(authentication=tokens))


def planner_app(login: str, calendar: RemoteAgent) -> ASGIApp:
    """Return the planner's server, which may see the tokens of its callers."""
    exchange = TokenExchange(
        audience="calendar",
        scopes=["calendar.read"],
        issuer=login,
        client_id="planner",
        client_secret=SECRETS["planner"],
    )

    async def planner(request: AgentRequest) -> AsyncIterator[str]:
        """Plan the caller's day."""
        token = request.caller.headers["authorization"].partition(" ")[2]
        mine = calendar.as_user(exchange.on_behalf_of(token))
        events = await mine.send("today")
        yield f"{request.caller.owner}: {events.text}"

    tokens = JwtTokens(f"{login}/keys", issuer=login, audience="planner")
    options = ServerOptions(authentication=tokens, caller_headers=["authorization"])
    return build_app(planner, options=options)
