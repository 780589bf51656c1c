"""Events and objects of the Responses API."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from a2a_adapters import TextDelta
from a2a_adapters.dialects import one_line
from a2a_adapters_openai.output import finish, progress_text, whole

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from a2a_adapters import AgentReply, TokenUsage
    from a2a_adapters_openai.dialect_run import DialectRun
    from a2a_adapters_openai.errors import ApiError
    from a2a_adapters_openai.output import NewEvent

STEP = 1000
"""Increment of a resumable stream's sequence number per character of text."""


@dataclass(slots=True, kw_only=True)
class Frame:
    """The fields that all objects of a response share.

    Attributes:
        id: The response's id.
        model: The model.
        background: Whether it continues without its client.
        previous: Id of the previous response.
        conversation: Id of its conversation.
        metadata: The client's metadata.
        created: Time of creation, in seconds since 1970.
    """

    id: str
    model: str
    background: bool = False
    previous: str | None = None
    conversation: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    created: int = field(default_factory=lambda: int(time.time()))

    def response(
        self,
        status: str,
        output: Sequence[dict[str, Any]] = (),
        usage: TokenUsage | None = None,
        error: ApiError | None = None,
    ) -> dict[str, Any]:
        """Return the response as an object."""
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "background": self.background,
            "error": error and {"code": error.code or "server_error", "message": error.message},
            "incomplete_details": None,
            "instructions": None,
            "metadata": self.metadata,
            "model": self.model,
            "output": list(output),
            "parallel_tool_calls": True,
            "previous_response_id": self.previous,
            "conversation": {"id": self.conversation} if self.conversation else None,
            "temperature": None,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": _usage(usage) if status in {"completed", "failed"} else None,
        }

    def message(self, text: str, status: str = "completed") -> dict[str, Any]:
        """Return the item with the text of the answer."""
        return {
            "id": f"msg_{self.id}",
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": [_text(text)] if status == "completed" else [],
        }

    def reasoning(self, number: int, text: str) -> dict[str, Any]:
        """Return an item with progress reports."""
        return {
            "id": f"rs_{self.id}_{number}",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": text}] if text else [],
        }


class ResponseShape:
    """Builds the events of a stream. Its last events have the whole text, as it was corrected.

    Args:
        frame: The fields that all objects of the response share.
        run: The run.
        is_json: Whether the answer must be JSON.
        keep: Stores the head of the conversation.
        after: Sequence number of the last event the client has received; None for a new stream.
    """

    def __init__(
        self,
        frame: Frame,
        run: DialectRun[NewEvent],
        *,
        is_json: bool = False,
        keep: Callable[[str, AgentReply], Awaitable[None]] | None = None,
        after: int | None = None,
    ) -> None:
        self._frame = frame
        self._run = run
        self._is_json = is_json
        self._keep = keep
        self._after = -1 if after is None else after
        self._number = -1
        self._characters = 0
        self._output: list[dict[str, Any]] = []
        self._reasoning: list[str] | None = None
        self._texts: list[str] | None = None
        self._index = 0
        self._head = b""

    def begin(self) -> bytes:
        """Return the first events."""
        response = self._frame.response("in_progress")
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def add(self, news: Sequence[NewEvent]) -> bytes:
        """Return the events for new text and progress."""
        events = []
        for each in news:
            if isinstance(each, TextDelta):
                if not self._is_json:
                    events.append(self._text(each.text))
            elif text := progress_text(each):
                events.append(self._reason(text))
        return b"".join(events)

    async def end(self) -> bytes:
        """Return the last events of an answer."""
        reply = finish(self._run.answer)[1]
        text, said = whole(reply, is_json=self._is_json), "".join(self._texts or ())
        rest = text.removeprefix(said) if text.startswith(said) else ""
        events = self._text(rest) if rest or self._texts is None else b""
        self._catch_up()
        if self._keep is not None:
            await self._keep(text, reply)
        events += self._end_message(text)
        response = self._frame.response("completed", self._output, reply.usage)
        return events + self._event("response.completed", response=response)

    async def whole(self, progress: Sequence[NewEvent]) -> dict[str, Any]:
        """Return the whole response.

        Raises:
            ApiError: The task ended without an answer.
        """
        reply = finish(self._run.answer)[1]
        text = whole(reply, is_json=self._is_json)
        if self._keep is not None:
            await self._keep(text, reply)
        reasoning = "".join(map(progress_text, progress))
        message = self._frame.message(text)
        output = [self._frame.reasoning(0, reasoning), message] if reasoning else [message]
        return self._frame.response("completed", output, reply.usage)

    def fail(self, error: ApiError) -> bytes:
        """Return the event that makes clients raise an error."""
        self._catch_up()
        status = "cancelled" if error.code == "cancelled" else "failed"
        response = self._frame.response(status, self._output, error=error)
        return self._event("response.failed", response=response)

    def _catch_up(self) -> None:
        """Let the next events reach a client that has received text that was withdrawn since."""
        if self._after // STEP > self._characters:
            self._number = max(self._number, self._after)

    def _event(self, kind: str, **values: object) -> bytes:
        self._number += 1
        if self._number <= self._after:
            return b""
        event = {"type": kind, "sequence_number": self._number, **values}
        return f"event: {kind}\ndata: ".encode() + one_line(event) + b"\n\n"

    def _text(self, text: str) -> bytes:
        """Return the event for a piece of text, after those that open its item."""
        opened = b"" if self._texts is not None else self._open_message()
        assert self._texts is not None  # noqa: S101 - it has just been opened
        self._texts.append(text)
        self._number += 1
        if self._frame.background:
            known = max(0, self._after // STEP - self._characters)
            self._characters += len(text)
            self._number = max(self._number, STEP * self._characters)
            text = text[known:]
        if self._number <= self._after or not text:
            return opened
        number = b"%d" % self._number
        return opened + self._head + number + b',"delta":' + one_line(text) + b"}\n\n"

    def _open_message(self) -> bytes:
        events = self._end_reasoning()
        self._texts = []
        self._index = len(self._output)
        item = self._frame.message("", "in_progress")
        kind = "response.output_text.delta"
        own = {"type": kind, "logprobs": [], **self._place()}
        self._head = f"event: {kind}\ndata: ".encode() + one_line(own)[:-1] + b',"sequence_number":'
        self._output.append(item)
        events += self._event("response.output_item.added", output_index=self._index, item=item)
        return events + self._event("response.content_part.added", **self._place(), part=_text(""))

    def _place(self) -> dict[str, object]:
        return {"item_id": f"msg_{self._frame.id}", "output_index": self._index, "content_index": 0}

    def _end_message(self, text: str) -> bytes:
        item = self._output[self._index] = self._frame.message(text)
        return (
            self._event("response.output_text.done", **self._place(), text=text, logprobs=[])
            + self._event("response.content_part.done", **self._place(), part=_text(text))
            + self._event("response.output_item.done", output_index=self._index, item=item)
        )

    def _reason(self, text: str) -> bytes:
        events = b""
        if self._reasoning is None:
            self._reasoning = []
            item = self._frame.reasoning(len(self._output), "")
            self._output.append(item)
            place = self._reasoning_place()
            index = {"output_index": place["output_index"]}
            events = self._event("response.output_item.added", **index, item=item)
            part = {"type": "summary_text", "text": ""}
            events += self._event("response.reasoning_summary_part.added", **place, part=part)
        self._reasoning.append(text)
        place = self._reasoning_place()
        events += self._event("response.reasoning_summary_text.delta", **place, delta=text)
        # While the text continues, progress reports are separate items.
        return events + (self._end_reasoning() if self._texts is not None else b"")

    def _reasoning_place(self) -> dict[str, object]:
        index = len(self._output) - 1
        item_id = self._output[index]["id"]
        return {"item_id": item_id, "output_index": index, "summary_index": 0}

    def _end_reasoning(self) -> bytes:
        if self._reasoning is None:
            return b""
        text, self._reasoning = "".join(self._reasoning), None
        place = self._reasoning_place()
        index = len(self._output) - 1
        item = self._output[index] = self._frame.reasoning(index, text)
        part = {"type": "summary_text", "text": text}
        return (
            self._event("response.reasoning_summary_text.done", **place, text=text)
            + self._event("response.reasoning_summary_part.done", **place, part=part)
            + self._event("response.output_item.done", output_index=index, item=item)
        )


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _usage(usage: TokenUsage | None) -> dict[str, Any]:
    """Return the usage, which some clients require even if it is unknown."""
    return {
        "input_tokens": usage.input_tokens if usage else 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage.output_tokens if usage else 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total_tokens if usage else 0,
    }
