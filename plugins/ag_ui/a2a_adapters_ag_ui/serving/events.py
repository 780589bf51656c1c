"""The events between a run's first and its last: https://docs.ag-ui.com/concepts/events."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import jsonpatch
from ag_ui.core import (
    ActivitySnapshotEvent,
    AssistantMessage,
    CustomEvent,
    FunctionCall,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)
from ag_ui.core import ToolCall as CallOfMessage
from pydantic_core import to_json

from a2a_adapters import Data, Progress, ToolCall, ToolResult
from a2a_adapters.dialects import one_line
from a2a_adapters.plugin import as_json
from a2a_adapters_ag_ui.front_end import STATE

if TYPE_CHECKING:
    from ag_ui.core import BaseEvent

    from a2a_adapters import RemoteArtifact
    from a2a_adapters.plugin import JSON, ProgressEvent
    from a2a_adapters_ag_ui.serving.questions import ToolUse

    Sent: TypeAlias = AssistantMessage | ToolMessage

_INTERFACE = "a2ui-surface"
"""The type of activities that CopilotKit shows with its renderer of A2UI."""


class RunEvents:
    """Builds the events of one run, one message or call at a time.

    Args:
        key: The beginning of the ids of messages and calls, the same whenever the run is repeated.

    Attributes:
        messages: The messages and calls that were sent, without the reasoning.
        artifacts: The ids of the artifacts that were sent.
    """

    def __init__(self, key: str) -> None:
        self.messages: list[Sent] = []
        self.artifacts: set[str] = set()
        self._key = key
        self._number = 0
        self._text_id = ""
        self._before_text = b""
        self._said: list[str] = []
        self._reasoning_id = ""
        self._calls: dict[str, str] = {}
        self._state: JSON = None

    def text(self, text: str) -> bytes:
        """Return the event for a piece of text, after those that open its message."""
        if not self._text_id:
            return self._open_text() + self.text(text)
        self._said.append(text)
        return self._before_text + one_line(text) + b"}\n\n"

    def progress(self, event: ProgressEvent) -> bytes:
        """Return the events for progress."""
        match event:
            case ToolCall(id=call_id, name=name, arguments=arguments):
                return self._call(self._id_of(call_id), name, arguments)
            case ToolResult():
                return self._result(event)
            case Progress(text=text, data={"type": "thought"}):
                return self._reason(text)
            case Progress(text=text, data=data):
                line = self._reason(f"{text}\n") if text else b""
                return line if data is None else line + custom("a2a:progress", data)

    def call(self, use: ToolUse) -> bytes:
        """Return the events that call a tool of the front end."""
        return self._call(use.id, use.name, use.arguments)

    def artifact(self, artifact: RemoteArtifact) -> bytes:
        """Return the events for the shared state or an interface."""
        self.artifacts.add(artifact.id)
        values = [part.value for part in artifact.parts if isinstance(part, Data)]
        if artifact.name == STATE:
            return b"".join(self._share(as_json(value)) for value in values)
        content = {"a2ui_operations": [each for value in values for each in _items(value)]}
        activity_id = self._next_id()
        return self.close() + encoded(
            ActivitySnapshotEvent(message_id=activity_id, activity_type=_INTERFACE, content=content)
        )

    @property
    def said(self) -> str:
        """The text of all messages, the open one included."""
        texts = [each.content for each in self.messages if isinstance(each, AssistantMessage)]
        return "".join([*filter(None, texts), *(self._said if self._text_id else ())])

    def correct(self, text: str) -> bytes:
        """Replace the text of all messages by one, and return the events before the snapshot."""
        closed = self.close()
        self.messages = [
            each for each in self.messages if isinstance(each, ToolMessage) or each.tool_calls
        ]
        if text:
            self.messages.append(AssistantMessage(id=self._next_id(), content=text))
        return closed

    def close(self) -> bytes:
        """Return the events that close the open message."""
        if self._text_id:
            text_id, self._text_id = self._text_id, ""
            self.messages.append(AssistantMessage(id=text_id, content="".join(self._said)))
            return encoded(TextMessageEndEvent(message_id=text_id))
        if self._reasoning_id:
            reasoning_id, self._reasoning_id = self._reasoning_id, ""
            return encoded(
                ReasoningMessageEndEvent(message_id=reasoning_id),
                ReasoningEndEvent(message_id=reasoning_id),
            )
        return b""

    def finish(self) -> bytes:
        """Return the events that close all open messages and calls.

        Front ends run calls without a result themselves, so the agent's own calls get an empty one.
        """
        events = self.close()
        for call_id in list(self._calls):
            events += self._answer(call_id, "")
        return events

    def _open_text(self) -> bytes:
        closed = self.close()
        self._text_id = self._next_id()
        self._said = []
        own = {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._text_id}
        self._before_text = b"data: " + one_line(own)[:-1] + b',"delta":'
        return closed + encoded(TextMessageStartEvent(message_id=self._text_id, role="assistant"))

    def _reason(self, text: str) -> bytes:
        if not text:
            return b""
        events = b""
        if not self._reasoning_id:
            events = self.close()
            self._reasoning_id = self._next_id()
            events += encoded(
                ReasoningStartEvent(message_id=self._reasoning_id),
                ReasoningMessageStartEvent(message_id=self._reasoning_id, role="reasoning"),
            )
        return events + encoded(
            ReasoningMessageContentEvent(message_id=self._reasoning_id, delta=text)
        )

    def _call(self, call_id: str, name: str, arguments: JSON) -> bytes:
        given = to_json({} if arguments is None else arguments).decode()
        function = FunctionCall(name=name, arguments=given)
        message = AssistantMessage(
            id=self._next_id(), tool_calls=[CallOfMessage(id=call_id, function=function)]
        )
        closed = self.close()
        self.messages.append(message)
        return closed + encoded(
            ToolCallStartEvent(
                tool_call_id=call_id, tool_call_name=name, parent_message_id=message.id
            ),
            ToolCallArgsEvent(tool_call_id=call_id, delta=given),
            ToolCallEndEvent(tool_call_id=call_id),
        )

    def _result(self, result: ToolResult) -> bytes:
        events = b""
        if result.id not in self._calls:
            events = self._call(self._id_of(result.id), result.name, None)
        value = result.result
        content = value if isinstance(value, str) else to_json(value).decode()
        return events + self._answer(result.id, content)

    def _answer(self, given_id: str, content: str) -> bytes:
        call_id, message_id = self._calls.pop(given_id), self._next_id()
        self.messages.append(ToolMessage(id=message_id, tool_call_id=call_id, content=content))
        return self.close() + encoded(
            ToolCallResultEvent(message_id=message_id, tool_call_id=call_id, content=content)
        )

    def _share(self, state: JSON) -> bytes:
        before, self._state = self._state, state
        if isinstance(before, dict) and isinstance(state, dict):
            delta = jsonpatch.make_patch(before, state).patch
            return encoded(StateDeltaEvent.model_validate({"delta": delta}))
        return encoded(StateSnapshotEvent(snapshot=state))

    def _id_of(self, given_id: str) -> str:
        """Return an id of a call that is unique in the thread; agents may reuse their own."""
        self._calls[given_id] = call_id = f"{self._next_id()}:{given_id}"
        return call_id

    def _next_id(self) -> str:
        self._number += 1
        return f"{self._key}:{self._number}"


def custom(name: str, value: object) -> bytes:
    """Return a custom event."""
    return encoded(CustomEvent(name=name, value=value))


def encoded(*events: BaseEvent) -> bytes:
    """Return events as server-sent events."""
    return b"".join(
        b"data: " + event.model_dump_json(by_alias=True).encode() + b"\n\n" for event in events
    )


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]
