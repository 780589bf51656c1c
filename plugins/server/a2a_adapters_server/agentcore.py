"""The health check of AWS Bedrock AgentCore Runtime, `/ping`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters.contract.dialect_routes import DialectRoutes

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from a2a_adapters.contract.dialect_routes import DialectServer

_IDLE, _BUSY = "Healthy", "HealthyBusy"


def agentcore_routes(server: DialectServer) -> DialectRoutes:
    """Return the route of the check; while messages are answered, it keeps the session alive."""
    status, since = _IDLE, int(time.time())

    async def ping(_request: Request) -> Response:
        nonlocal status, since
        current = _BUSY if server.is_busy() else _IDLE
        if current != status:
            status, since = current, int(time.time())
        return JSONResponse({"status": status, "time_of_last_update": since})

    return DialectRoutes(cards=[Route("/ping", ping)])
