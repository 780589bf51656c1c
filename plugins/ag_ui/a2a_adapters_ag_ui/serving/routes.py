"""The routes for AG-UI's clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.utils.errors import A2AError
from a2a_adapters_openai.errors import ApiError, api_error, refusal
from a2a_adapters_openai.parameters import read_body
from a2a_adapters_openai.stream import EventStream, OnLeave
from a2a_adapters_openai.turns import caller
from ag_ui.core import RunFinishedSuccessOutcome
from starlette.responses import Response
from starlette.routing import Route

from a2a_adapters.dialects import DialectRoutes, is_busy, quote
from a2a_adapters_ag_ui.serving.input import Asked
from a2a_adapters_ag_ui.serving.shape import RunShape, failed, finished, started
from a2a_adapters_ag_ui.serving.turn import Turn

if TYPE_CHECKING:
    from starlette.requests import Request

    from a2a_adapters.dialects import DialectAgent, DialectServer

_PATH = "/ag-ui"


def ag_ui_routes(server: DialectServer) -> DialectRoutes:
    """Return the routes for the served agents: one for each, and one for a single agent."""
    run = RunEndpoint(server).answer
    return DialectRoutes(
        calls=[
            Route(_PATH, run, methods=["POST"]),
            Route(f"{_PATH}/{{agent}}", run, methods=["POST"]),
        ],
        refusal=refusal,
        endpoints={f"AG-UI endpoint of {name}": f"{_PATH}/{name}" for name in server.agents},
    )


class RunEndpoint:
    """Runs agents.

    Args:
        server: Provides the agents and identifies callers.
    """

    def __init__(self, server: DialectServer) -> None:
        self._server = server

    async def answer(self, request: Request) -> Response:
        """Answer a run. Invalid requests get an HTTP status; failed runs end with an event."""
        try:
            return await self._answer(request)
        except ApiError as error:
            return error.response()
        except A2AError as error:
            return api_error(error).response()

    async def _answer(self, request: Request) -> Response:
        agent = self._find(request.path_params.get("agent"))
        asked = Asked(await read_body(request))
        turn = Turn(agent, caller(self._server, request), asked)
        try:
            run = await turn.begin()
        except ApiError as error:
            return _events(started(asked) + failed(error))
        except A2AError as error:
            if is_busy(error):
                raise
            return _events(started(asked) + failed(api_error(error)))
        if run is None:
            return _events(started(asked) + finished(asked, RunFinishedSuccessOutcome()))
        on_leave = OnLeave.CLOSE if turn.is_known else OnLeave.CANCEL
        return EventStream(run, RunShape(asked, run, turn), {}, on_leave)

    def _find(self, name: str | None) -> DialectAgent:
        agents = self._server.agents
        if name is None and len(agents) == 1:
            return next(iter(agents.values()))
        if name is not None and name in agents:
            return agents[name]
        known = quote(", ".join(f"{_PATH}/{each}" for each in agents))
        raise ApiError(404, f"there is no such agent; this server has: {known}", code="not_found")


def _events(body: bytes) -> Response:
    return Response(body, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
