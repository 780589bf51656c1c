"""Stands in for your model, so that this runs anywhere: looks the weather up, then advises."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agents import Model, ModelResponse, Usage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class ForecastModel(Model):
    """Calls the tool `weather` with the user's text, and turns its result into a forecast."""

    async def get_response(
        self, _instructions: str | None, items: Any, *_: Any, **__: Any
    ) -> ModelResponse:
        return ModelResponse([_next(items)], Usage(), None)

    async def stream_response(
        self, _instructions: str | None, items: Any, *_: Any, **__: Any
    ) -> AsyncIterator[Any]:
        response = Response.model_construct(id="response", output=[_next(items)], usage=None)
        yield ResponseCompletedEvent.model_construct(
            response=response, sequence_number=0, type="response.completed"
        )


def _next(items: Any) -> Any:
    last = items[-1]
    if last.get("type") != "function_call_output":
        return ResponseFunctionToolCall(
            arguments=json.dumps({"city": last["content"]}),
            call_id="weather",
            name="weather",
            type="function_call",
        )
    weather = json.loads(last["output"])
    advice = "Take a coat." if weather["degrees"] < 10 else "Take sunglasses."
    forecast = {"city": weather["city"], "degrees": weather["degrees"], "advice": advice}
    return ResponseOutputMessage(
        id="message",
        content=[ResponseOutputText(annotations=[], text=json.dumps(forecast), type="output_text")],
        role="assistant",
        status="completed",
        type="message",
    )
