"""Converts an answer to the response of a model, whole or streamed."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING, Any

from agents import Usage
from agents.models.fake_id import FAKE_RESPONSES_ID
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseContentPartAddedEvent,
    ResponseContentPartDoneEvent,
    ResponseCreatedEvent,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
    ResponseUsage,
)
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents import TResponseStreamEvent

    from a2a_adapters import AgentReply
    from a2a_adapters_openai_agents.calling.messages import Place


def message(text: str, place: Place) -> ResponseOutputMessage:
    """Return an answer as a message that contains its place in the conversation."""
    return _message(text, "completed", provider_data=place.as_provider_data())


def usage_of(reply: AgentReply) -> Usage:
    """Return the token usage of an answer, as far as the agent reports it."""
    usage = reply.counted_usage(__name__)
    if usage is None:
        return Usage(requests=1)
    return Usage(
        requests=1,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
    )


class QuestionDelta(ResponseTextDeltaEvent):
    """The question of a remote agent, with which its text ends."""


class ResponseEvents:
    """The events of one streamed response, which has one message.

    Args:
        model: The name of the model.
    """

    def __init__(self, model: str) -> None:
        self._number = count()
        self._model = model
        self._created = time.time()

    def begin(self) -> Iterator[TResponseStreamEvent]:
        """Yield the events before the first text."""
        yield ResponseCreatedEvent(
            response=self._response([]), sequence_number=next(self._number), type="response.created"
        )
        yield ResponseOutputItemAddedEvent(
            item=_message("", "in_progress", content=[]),
            output_index=0,
            sequence_number=next(self._number),
            type="response.output_item.added",
        )
        yield ResponseContentPartAddedEvent(
            content_index=0,
            item_id=FAKE_RESPONSES_ID,
            output_index=0,
            part=_text(""),
            sequence_number=next(self._number),
            type="response.content_part.added",
        )

    def delta(self, text: str, *, is_question: bool = False) -> TResponseStreamEvent:
        """Return the event for a chunk of text."""
        kind = QuestionDelta if is_question else ResponseTextDeltaEvent
        return kind(
            content_index=0,
            delta=text,
            item_id=FAKE_RESPONSES_ID,
            logprobs=[],
            output_index=0,
            sequence_number=next(self._number),
            type="response.output_text.delta",
        )

    def end(self, whole: ResponseOutputMessage, usage: Usage) -> Iterator[TResponseStreamEvent]:
        """Yield the events after the last text."""
        yield ResponseContentPartDoneEvent(
            content_index=0,
            item_id=FAKE_RESPONSES_ID,
            output_index=0,
            part=whole.content[0],
            sequence_number=next(self._number),
            type="response.content_part.done",
        )
        yield ResponseOutputItemDoneEvent(
            item=whole,
            output_index=0,
            sequence_number=next(self._number),
            type="response.output_item.done",
        )
        yield ResponseCompletedEvent(
            response=self._response([whole], usage),
            sequence_number=next(self._number),
            type="response.completed",
        )

    def _response(
        self, output: list[ResponseOutputMessage], usage: Usage | None = None
    ) -> Response:
        return Response(
            id=FAKE_RESPONSES_ID,
            created_at=self._created,
            model=self._model,
            object="response",
            output=[*output],
            parallel_tool_calls=False,
            tool_choice="none",
            tools=[],
            usage=_response_usage(usage) if usage else None,
        )


def _message(text: str, status: Any, **fields: Any) -> ResponseOutputMessage:
    return ResponseOutputMessage.model_validate(
        {
            "id": FAKE_RESPONSES_ID,
            "content": [_text(text)],
            "role": "assistant",
            "status": status,
            "type": "message",
            **fields,
        }
    )


def _text(text: str) -> ResponseOutputText:
    return ResponseOutputText(annotations=[], text=text, type="output_text")


def _response_usage(usage: Usage) -> ResponseUsage:
    no_cache = {"cached_tokens": 0, "cache_write_tokens": 0}
    return ResponseUsage(
        input_tokens=usage.input_tokens,
        input_tokens_details=InputTokensDetails.model_validate(no_cache),
        output_tokens=usage.output_tokens,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
        total_tokens=usage.total_tokens,
    )
