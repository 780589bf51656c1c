"""The served agents as models."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

from a2a_adapters.dialects import quote
from a2a_adapters_openai.errors import ApiError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from a2a_adapters.dialects import DialectAgent, DialectServer


class Models:
    """Finds agents by model name.

    Args:
        server: Provides the agents.
    """

    def __init__(self, server: DialectServer) -> None:
        self._agents = server.agents
        self._created = int(time.time())

    def find(self, model: str) -> DialectAgent:
        """Return the agent of a model.

        Raises:
            ApiError: There is no such model; the error lists the models.
        """
        agent = self._agents.get(model)
        if agent is None:
            known = quote(", ".join(self._agents))
            text = f"the model {quote(model, 100)!r} does not exist; this server has: {known}"
            raise ApiError(404, text, param="model", code="model_not_found")
        return agent

    async def list(self, _request: Request) -> Response:
        """Answer `GET /v1/models`."""
        models = [self._shown(model) for model in self._agents]
        return JSONResponse({"object": "list", "data": models})

    async def show(self, request: Request) -> Response:
        """Answer `GET /v1/models/{model}`."""
        model = request.path_params["model"]
        self.find(model)
        return JSONResponse(self._shown(model))

    def _shown(self, model: str) -> dict[str, Any]:
        about = self._agents[model].about
        return {
            "id": model,
            "object": "model",
            "created": self._created,
            "owned_by": "a2a-adapters",
            "name": about.name,
            "description": about.description,
        }
