"""News of a run, for clients that follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    HandoffMessage,
    ModelClientStreamingChunkEvent,
    SelectSpeakerEvent,
    StructuredMessage,
    ThoughtEvent,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    UserInputRequestedEvent,
)

from a2a_adapters import JSON, Progress, ProgressEvent, ToolCall, ToolResult, tool_arguments
from a2a_adapters_autogen.serving.output import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_NEWS = (ModelClientStreamingChunkEvent, UserInputRequestedEvent)


def news(event: BaseAgentEvent) -> Iterator[ProgressEvent]:
    """Yield what an event tells: tool calls, their results, and steps of any other kind."""
    match event:
        case ToolCallRequestEvent(content=calls):
            for call in calls:
                yield ToolCall(call.id, call.name, tool_arguments(call.arguments))
        case ToolCallExecutionEvent(content=results):
            for result in results:
                # The text of an error is an exception's.
                content = None if result.is_error else result.content
                yield ToolResult(result.call_id, result.name, content, bool(result.is_error))
        case SelectSpeakerEvent(content=speakers):
            data: JSON = {**_about("speaker", event), "speakers": speakers}
            yield Progress(f"next: {', '.join(speakers)}", data)
        case ThoughtEvent(content=thought):
            yield Progress(thought, _about("thought", event))
        case _ if not isinstance(event, _NO_NEWS):
            yield Progress(event.to_text(), _about(type(event).__name__, event))


def message_news(message: BaseChatMessage) -> Progress:
    """Return a message that is not the answer."""
    if isinstance(message, HandoffMessage):
        data: JSON = {**_about("handoff", message), "target": message.target}
        return Progress(message.content, data)
    if isinstance(message, StructuredMessage):
        content = cast("JSON", message.model_dump(mode="json")["content"])
        return Progress(data={**_about("message", message), "content": content})
    return Progress(text_of(message), _about("message", message))


def _about(kind: str, event: BaseAgentEvent | BaseChatMessage) -> dict[str, str]:
    return {"kind": kind, "source": event.source}
