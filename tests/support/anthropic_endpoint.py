"""A fake of Anthropic's Messages API, whose models are functions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.support.adapters import words
from tests.support.agents import items

if TYPE_CHECKING:
    from collections.abc import Callable


class RefusedError(Exception):
    """A response of the API with an HTTP status, as an answer of a model."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Fake:
    """Answers with what a function makes of the messages it is given; streams words.

    The function returns a text, a content block, an exception that ends the response, a stop reason
    as a tuple, or a list of these; it may be async.

    Attributes:
        heard: The messages of each call.
        asked: The whole request of each call.
    """

    def __init__(self, answer: Callable[[list[Any]], Any], *, streams: bool = True) -> None:
        self._answer = answer
        self._streams = streams
        self.heard: list[list[Any]] = []
        self.asked: list[Any] = []

    async def respond(self, asked: Any) -> Response:
        """Answer a request."""
        self.asked.append(asked)
        self.heard.append(asked["messages"])
        made = await items(self._answer, asked["messages"])
        if isinstance(made[0], RefusedError):
            error = {"type": "invalid_request_error", "message": str(made[0])}
            return JSONResponse({"type": "error", "error": error}, made[0].status)
        return StreamingResponse(self._events(made), media_type="text/event-stream")

    async def _events(self, made: list[Any]) -> AsyncIterator[str]:
        usage = {"input_tokens": 3, "output_tokens": 1}
        message = {
            "id": f"msg_{len(self.heard)}",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        yield _event("message_start", message=message)
        stop = "end_turn"
        for index, item in enumerate(made):
            if isinstance(item, tuple):
                [stop] = item
                continue
            if isinstance(item, Exception):
                yield _event("error", error={"type": "api_error", "message": str(item)})
                return
            block = {"type": "text", "text": item} if isinstance(item, str) else item
            if block["type"] == "tool_use":
                stop = "tool_use"
            for event in self._block(index, block):
                yield event
        delta = {"stop_reason": stop, "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage={"output_tokens": 2})
        yield _event("message_stop")

    def _block(self, index: int, block: Any) -> list[str]:
        match block:
            case {"type": "text", "text": text}:
                begun = {"type": "text", "text": ""}
                pieces = words(text) if self._streams else [text]
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
            case {"type": "thinking", "thinking": thought}:
                begun = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [
                    {"type": "thinking_delta", "thinking": thought},
                    {"type": "signature_delta", "signature": "signed"},
                ]
            case _:
                begun = {**block, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        return [
            _event("content_block_start", index=index, content_block=begun),
            *(_event("content_block_delta", index=index, delta=delta) for delta in deltas),
            _event("content_block_stop", index=index),
        ]


class Endpoint:
    """Serves models under paths of their own.

    Attributes:
        app: The app.
        url: Its address, once it is served.
    """

    def __init__(self) -> None:
        route = Route("/{model}/v1/messages", self._respond, methods=["POST"])
        count = Route("/{model}/v1/messages/count_tokens", self._count, methods=["POST"])
        self.app = Starlette(routes=[route, count])
        self.url = ""
        self._models: list[Fake] = []

    def address(self, model: Fake) -> str:
        """Return the address of a model."""
        if model not in self._models:
            self._models.append(model)
        return f"{self.url}/{self._models.index(model)}"

    async def _respond(self, request: Request) -> Response:
        model = self._models[int(request.path_params["model"])]
        return await model.respond(await request.json())

    async def _count(self, _: Request) -> Response:
        return JSONResponse({"input_tokens": 1})


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"
