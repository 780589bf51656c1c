"""The page that a browser gets at the root of a server without a console."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse

from a2a_adapters.contract.dialect_routes import DialectRoutes
from a2a_adapters.dialects import PageRoute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request
    from starlette.responses import Response

    from a2a_adapters.contract.dialect_routes import DialectAgent, DialectServer

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 2rem auto; max-width: 42rem; padding: 0 1rem }
code { overflow-wrap: anywhere }
"""

_CARD = ".well-known/agent-card.json"


def page_routes(server: DialectServer) -> DialectRoutes:
    """Return the route of the page, which lists the agents, their skills and their cards."""
    agents = list(server.agents.values())

    async def page(request: Request) -> Response:
        body = "\n".join(_lines(agents, server.url(request.scope)))
        return HTMLResponse(body, headers=_HEADERS)

    return DialectRoutes(cards=[PageRoute("/", page)])


def _lines(agents: list[DialectAgent], root: str) -> Iterator[str]:
    title = escape(agents[0].about.name if len(agents) == 1 else f"{len(agents)} agents")
    yield "<!doctype html>"
    yield '<html lang="en"><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title><style>{_STYLE}</style><main>"
    if len(agents) > 1:
        yield f"<h1>{title}</h1>"
    level = "h1" if len(agents) == 1 else "h2"
    for agent in agents:
        yield from _about(agent, root, level)
    yield "<p>Talk to it with any A2A client, or from a terminal:</p>"
    yield f"<pre><code>a2a-adapters chat {escape(root + agents[0].path)}</code></pre></main></html>"


def _about(agent: DialectAgent, root: str, level: str) -> Iterator[str]:
    about = agent.about
    yield f"<{level}>{escape(about.name)}</{level}><p>{escape(about.description)}</p>"
    if about.skills:
        yield "<ul>"
        for skill in about.skills:
            yield f"<li><b>{escape(skill.name)}</b>: {escape(skill.description)}</li>"
        yield "</ul>"
    # Relative, since a proxy may move the page.
    card = escape(agent.path.removeprefix("/") + _CARD)
    yield f"<p>A2A agent at <code>{escape(root + agent.path)}</code>, "
    yield f'<a href="{card}">agent card</a></p>'
