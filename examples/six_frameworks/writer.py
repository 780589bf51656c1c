"""An agent of the OpenAI Agents SDK that writes letters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseOutputMessage,
    ResponseOutputText,
)


class Rules(Model):
    """Stands in for a language model."""

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        raise NotImplementedError

    async def stream_response(
        self, _instructions: str | None, items: Any, *_: Any, **__: Any
    ) -> AsyncIterator[Any]:
        told = [line.partition(": ")[2] for line in items[-1]["content"].splitlines()]
        text = "\n".join(["Dear Ann,", *told])
        content = ResponseOutputText(annotations=[], text=text, type="output_text")
        said = ResponseOutputMessage(
            id="m", content=[content], role="assistant", status="completed", type="message"
        )
        response = Response(
            id="r",
            created_at=0,
            model="rules",
            object="response",
            output=[said],
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(
            response=response, sequence_number=0, type="response.completed"
        )


writer = Agent(name="writer", model=Rules(), handoff_description="Writes letters.")
