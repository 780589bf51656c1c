"""Fakes of the APIs of OpenAI and of Gemini, which answer without cost, or refuse every call."""

from __future__ import annotations

import json

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

ANSWER = "Rome is fine."

CLOSE = {"Connection": "close"}
"""The SDK's default client is never closed, and would leave its connections to the event loop."""

SECRET = "sk-hunter2"
"""The API key, which the provider quotes."""

STATUSES = [(401, "model_refused"), (503, "model_unavailable")]
"""The provider's answers, and the resulting category of failure."""

UNREACHABLE = "http://127.0.0.1:9/v1"
"""The address of an unreachable provider: nothing listens on the port of `discard`."""


async def respond(request: Request) -> Response:
    """Stream `ANSWER` word by word; call the first tool if the last message asks for it."""
    asked = await request.json()
    request.app.state.asked.append(asked)
    last = asked["input"] if isinstance(asked["input"], str) else asked["input"][-1]
    calls = asked.get("tools") and "book" in str(last) and "output" not in last
    item = _call(asked["tools"][0]["name"]) if calls else _message()
    if not asked.get("stream"):
        return JSONResponse(_response([item]), headers=CLOSE)
    return StreamingResponse(_events(item), headers=CLOSE, media_type="text/event-stream")


async def generate(request: Request) -> Response:
    """Stream `ANSWER` as Gemini does."""
    request.app.state.asked.append(await request.json())
    content = {"role": "model", "parts": [{"text": ANSWER}]}
    answer = {"candidates": [{"content": content, "finishReason": "STOP"}]}
    return Response(
        f"data: {json.dumps(answer)}\n\n", headers=CLOSE, media_type="text/event-stream"
    )


def endpoint() -> Starlette:
    """Return the APIs; `app.state.asked` has their requests."""
    openai = Route("/v1/responses", respond, methods=["POST"])
    gemini = Route("/v1beta/models/{model}:streamGenerateContent", generate, methods=["POST"])
    app = Starlette(routes=[openai, gemini])
    app.state.asked = []
    return app


def _message():
    content = {"type": "output_text", "text": ANSWER, "annotations": []}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [content],
    }


def _call(name):
    arguments = json.dumps({"city": "Rome"})
    return {
        "id": "fc_1",
        "type": "function_call",
        "status": "completed",
        "call_id": "call_1",
        "name": name,
        "arguments": arguments,
    }


def _response(output):
    usage = {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 4,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 7,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": "none",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "completed",
        "usage": usage,
    }


async def _events(item):
    yield _event("response.created", response=_response([]))
    yield _event("response.output_item.added", item=item, output_index=0)
    if item["type"] == "message":
        for piece in ANSWER.split(" "):
            yield _event(
                "response.output_text.delta",
                delta=piece if piece == "Rome" else f" {piece}",
                item_id=item["id"],
                output_index=0,
                content_index=0,
                logprobs=[],
            )
    yield _event("response.output_item.done", item=item, output_index=0)
    yield _event("response.completed", response=_response([item]))


def _event(kind, **fields):
    event = {"type": kind, "sequence_number": 0, **fields}
    return f"event: {kind}\ndata: {json.dumps(event)}\n\n"


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
