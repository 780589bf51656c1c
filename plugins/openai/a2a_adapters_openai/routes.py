"""The routes of the OpenAI-compatible API."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

from a2a.utils.errors import A2AError
from starlette.routing import Route

from a2a_adapters.dialects import DialectRoutes
from a2a_adapters_openai.chat import ChatEndpoint
from a2a_adapters_openai.errors import ApiError, api_error, refusal
from a2a_adapters_openai.models import Models
from a2a_adapters_openai.responses import ResponsesEndpoint
from a2a_adapters_openai.stored import StoredEndpoint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from starlette.requests import Request
    from starlette.responses import Response

    from a2a_adapters.dialects import DialectServer

    Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


def openai_routes(server: DialectServer) -> DialectRoutes:
    """Return the routes for the served agents."""
    models = Models(server)
    chat = ChatEndpoint(server, models)
    responses, stored = ResponsesEndpoint(server, models), StoredEndpoint(server)
    return DialectRoutes(
        calls=[
            Route("/v1/models", _refusing(models.list), methods=["GET"]),
            Route("/v1/models/{model:path}", _refusing(models.show), methods=["GET"]),
            Route("/v1/chat/completions", _refusing(chat.answer), methods=["POST"]),
            Route("/v1/responses", _refusing(responses.create), methods=["POST"]),
            Route("/v1/responses/{id}", _refusing(stored.show), methods=["GET"]),
            Route("/v1/responses/{id}", _refusing(stored.delete), methods=["DELETE"]),
            Route("/v1/responses/{id}/cancel", _refusing(stored.cancel), methods=["POST"]),
            Route("/v1/conversations", _refusing(responses.create_conversation), methods=["POST"]),
            Route(
                "/v1/conversations/{id}", _refusing(responses.show_conversation), methods=["GET"]
            ),
        ],
        refusal=refusal,
        endpoints={"OpenAI-compatible API": "/v1"},
    )


def _refusing(handler: Handler) -> Handler:
    """Convert a handler's errors to responses in the format of the API."""

    @wraps(handler)
    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except ApiError as error:
            return error.response()
        except A2AError as error:
            return api_error(error).response()

    return answer
