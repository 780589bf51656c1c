"""Health checks: whether the event loop runs, and whether to send requests here.

They need no credentials, and answer whatever host a probe names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

LIVE_PATH = "/livez"
READY_PATHS = ("/healthz", "/readyz")
HEALTH_PATHS = (LIVE_PATH, *READY_PATHS)


def health_routes(extra: Sequence[str] = ()) -> list[Route]:
    """Return the routes of all health checks; `extra` are further paths of readiness."""
    ready = dict.fromkeys((*READY_PATHS, *extra))
    return [*(Route(path, _ready) for path in ready), Route(LIVE_PATH, _alive)]


async def _ready(request: Request) -> Response:
    if request.app.state.agents.is_draining:
        return JSONResponse({"status": "draining"}, 503)
    if away := request.app.state.agents.storage.away:
        return JSONResponse({"status": f"{away} away"}, 503)
    return JSONResponse({"status": "ready"})


async def _alive(_request: Request) -> Response:
    """Answer while the event loop runs; `_ready` says whether to send requests here."""
    return JSONResponse({"status": "alive"})
