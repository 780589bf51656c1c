"""Converts the updates of a run to adapter events."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any, TypeAlias

from agent_framework import AgentResponse, AgentResponseUpdate
from agent_framework.exceptions import ChatClientException
from pydantic import BaseModel

from a2a_adapters import AgentEvent, File, Output, Progress, TaskMetadata, TextDelta, TokenUsage
from a2a_adapters.plugin import AgentFailedError, AnswerText, Speech, ToolCalls, as_output
from a2a_adapters_agent_framework.calling.client import QUESTION
from a2a_adapters_agent_framework.serving.failures import LIMIT_TEXT
from a2a_adapters_agent_framework.serving.tools import Called, Returned, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_framework import Content

RunItem: TypeAlias = "AgentResponseUpdate | Called | Returned | AgentResponse[Any]"
"""What a run yields: its response is the last."""


class RunEvents:
    """Converts the items of one run.

    The text of every model response is the answer, token by token. An agent with a
    `response_format` answers with its value as data instead.

    Attributes:
        response: The response of the run, once it has ended.
        is_limited: Whether the framework ended the run at its limit of tool calls.
        is_filtered: Whether a content filter stopped the answer.
        asked: The question of a remote agent with which the answer ends, or "".

    Args:
        response_format: The format of an agent's answer; None for text.
        wants_progress: Whether the client follows the progress.
        asks: Whether a question of a remote agent is not text.
    """

    response: AgentResponse[Any]

    def __init__(
        self, response_format: object = None, *, wants_progress: bool, asks: bool = False
    ) -> None:
        self._asks = asks
        self.asked = ""
        self._chunks: list[str] = []
        self._format = response_format
        self._wants_progress = wants_progress
        self._tools = ToolCalls()
        self._speech = Speech[int]()
        self._number = 0
        self._thought = ""
        self.is_limited = self.is_filtered = False

    def take(self, item: RunItem) -> Iterator[AgentEvent]:
        """Yield the adapter events for an item."""
        match item:
            case AgentResponseUpdate():
                self.is_filtered |= item.finish_reason == "content_filter"
                for content in item.contents:
                    yield from self.content(content)
            case Called():
                yield from self.end_of_response()
                if self._wants_progress:
                    yield from self._tools.started(item.call_id, item.name, item.arguments)
            case Returned():
                if self._wants_progress:
                    yield from self._tools.finished(
                        item.call_id, item.result, is_error=item.is_error
                    )
            case AgentResponse():
                self.response = item
                self.is_filtered |= item.finish_reason == "content_filter"

    def whole(self) -> Iterator[AgentEvent]:
        """Yield the content of a response that was not streamed."""
        for message in self.response.messages:
            for content in message.contents:
                if message.role == "assistant" or content.type == "function_result":
                    yield from self.content(content)
            yield from self.end_of_response()

    def end(self) -> Iterator[AgentEvent]:
        """Yield the rest of the answer and the metadata of a run that waits or has ended."""
        yield from self.end_of_response()
        if self._format is None:
            yield self._answer()
        elif not self.response.user_input_requests:
            yield from self._value()
        usage = self.response.usage_details or {}
        if total := usage.get("total_token_count"):
            given, made = usage.get("input_token_count"), usage.get("output_token_count")
            yield TaskMetadata(TokenUsage(given or 0, made or 0, total).as_metadata())

    def content(self, content: Content) -> Iterator[AgentEvent]:
        """Yield the adapter events for a part of a response."""
        match content.type:
            case "text_reasoning":
                self._thought += content.text or ""
            case "text":
                yield from self._end_of_thought()
                yield from self._text(self._text_of(content))
            case "function_call" | "function_result":
                yield from self.end_of_response()
                if content.type == "function_result":
                    yield from self._result(content)
            case "data" | "uri":
                yield from self.accepted()
                yield _file(content)
            case "error":  # its text may hold anything, so that it is only for the log
                cause = ChatClientException(f"{content.error_code}: {content.message}")
                raise AgentFailedError("model_unavailable") from cause

    def _result(self, content: Content) -> Iterator[AgentEvent]:
        """Yield the result of a call that middleware may have changed."""
        if self._wants_progress and (call_id := content.call_id or "") in self._tools:
            failed = bool(content.exception)
            yield from self._tools.finished(call_id, value_of(content.result), is_error=failed)

    def _answer(self) -> AnswerText:
        """Return the text of the response, which may have been corrected since it was streamed."""
        speech, number, texts = Speech[int](), 0, list[str]()
        for message in self.response.messages:
            for content in message.contents if message.role == "assistant" else ():
                if content.type == "text" and content.text != LIMIT_TEXT:
                    texts.append(speech.add(number, self._text_of(content)))
                elif content.type in {"function_call", "function_result"}:
                    texts.append(speech.end(number))
                    number += 1
            texts.append(speech.end(number))
            number += 1
        return AnswerText("".join(texts))

    def _text_of(self, content: Content) -> str:
        """Return a text, without the question of a remote agent with which it ends."""
        text, asked = content.text or "", (content.additional_properties or {}).get(QUESTION)
        if not self._asks or not asked:
            return text
        self.asked = asked
        return text.removesuffix(asked).rstrip()

    def _text(self, text: str) -> Iterator[AgentEvent]:
        if text == LIMIT_TEXT:
            self.is_limited = True
        elif self._format is None:
            yield from self._said(self._speech.add(self._number, text))

    def end_of_response(self) -> Iterator[AgentEvent]:
        """Yield the rest of a response of the model; the next one begins a paragraph."""
        yield from self._end_of_thought()
        yield from self._said(self._speech.end(self._number))
        self._number += 1

    def accepted(self) -> Iterator[AgentEvent]:
        """Yield the text so far as accepted: what follows does not wait for it."""
        if self._chunks and not self.is_filtered:
            yield AnswerText("".join(self._chunks))

    def _said(self, text: str) -> Iterator[AgentEvent]:
        if text:
            self._chunks.append(text)
            yield TextDelta(text)

    def _end_of_thought(self) -> Iterator[AgentEvent]:
        thought, self._thought = self._thought, ""
        if thought and self._wants_progress:
            yield Progress(thought, {"kind": "thought"})

    def _value(self) -> Iterator[AgentEvent]:
        """Yield the response as data, or as text if it has another format, such as a refusal."""
        try:
            value = self.response.value
        except ValueError:
            value = None
        if value is None:
            yield self._answer()
            return
        schema = value.model_json_schema() if isinstance(value, BaseModel) else self._format
        if converted := as_output(value, schema=schema if isinstance(schema, dict) else None):
            yield converted


def _file(content: Content) -> Output:
    """Return a file of the answer; the framework holds its bytes in a data URL."""
    media_type, filename = content.media_type or "", content.name or ""
    if content.type == "uri":
        return Output([File(url=content.uri, media_type=media_type, filename=filename)])
    encoded = (content.uri or "").partition(",")[2]
    return Output([File(content=b64decode(encoded), media_type=media_type, filename=filename)])
