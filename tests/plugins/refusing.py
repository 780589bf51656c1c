"""A model provider that answers every call with an HTTP status, in OpenAI's form."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

SECRET = "sk-hunter2"
"""The API key, which the provider quotes."""

STATUSES = [(401, "model_refused"), (503, "model_unavailable")]
"""The provider's answers, and the resulting category of failure."""

UNREACHABLE = "http://127.0.0.1:9/v1"
"""The address of an unreachable provider: nothing listens on the port of `discard`."""


async def _refuse(request: Request) -> JSONResponse:
    error = {"message": f"no, {SECRET}", "type": "server_error", "code": None, "param": None}
    status, closing = request.path_params["status"], {"Connection": "close"}
    return JSONResponse({"error": error}, status, closing)


REFUSING = Starlette(routes=[Route("/{status:int}/{path:path}", _refuse, methods=["POST"])])
"""The provider; `/401/v1` is the base address of one that answers 401."""


def said_of(task) -> tuple[str, str]:
    """Return the category and text of a failed task, after checking the caller's view of it."""
    error, text = task.metadata["error"], task.status.message.parts[0].text
    assert text.endswith(f"Error id: {error['id']}")
    assert SECRET not in str(task)
    return error["category"], text
