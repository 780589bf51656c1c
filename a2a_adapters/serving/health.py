"""Health checks: whether the event loop runs, and whether to send requests here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LIVE_PATH = "/livez"
READY_PATHS = ("/healthz", "/readyz")


def health_routes() -> list[Route]:
    """Return the routes of all health checks."""
    return [*(Route(path, _ready) for path in READY_PATHS), Route(LIVE_PATH, _alive)]


async def _ready(request: Request) -> Response:
    if request.app.state.agents.is_draining:
        return JSONResponse({"status": "draining"}, 503)
    if away := request.app.state.agents.storage.away:
        return JSONResponse({"status": f"{away} away"}, 503)
    return JSONResponse({"status": "ready"})


async def _alive(_request: Request) -> Response:
    """Answer while the event loop runs; `_ready` says whether to send requests here."""
    return JSONResponse({"status": "alive"})
