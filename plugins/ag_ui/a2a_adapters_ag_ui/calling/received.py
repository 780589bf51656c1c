"""Converts the events of a remote run to events of an agent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonpatch

from a2a_adapters import (
    AgentEvent,
    Data,
    Output,
    Progress,
    Rejected,
    TaskMetadata,
    TextDelta,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from a2a_adapters.dialects import is_corrected, quote
from a2a_adapters.plugin import (
    A2UI_EXTENSION,
    AgentFailedError,
    AnswerText,
    as_json,
    tool_arguments,
)
from a2a_adapters_ag_ui.front_end import STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from a2a_adapters_ag_ui.calling.conversation import Conversation

_LONGEST_REASON = 500
_INTERFACES = ("a2ui_operations", "operations")


class ReceivedRun:
    """Converts the events of one run and adds its messages and state to the conversation.

    Args:
        conversation: The conversation of the run.

    Attributes:
        interrupts: The questions with which the run ended.
        is_ended: Whether the run has ended.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.interrupts: list[dict[str, Any]] = []
        self.is_ended = False
        self._conversation = conversation
        self._known = {message["id"] for message in conversation.messages}
        self._state_before = conversation.state
        self._texts: dict[str, dict[str, Any]] = {}
        self._calls: dict[str, dict[str, Any]] = {}
        self._open_calls: set[str] = set()
        self._last_id = ""
        self._said: list[str] = []
        self._usage = TokenUsage()
        self._conversions: dict[str, Callable[[dict[str, Any]], Iterator[AgentEvent]]] = {
            "TEXT_MESSAGE_START": self._text,
            "TEXT_MESSAGE_CONTENT": self._text,
            "TEXT_MESSAGE_CHUNK": self._text,
            "REASONING_MESSAGE_CONTENT": self._thought,
            "REASONING_MESSAGE_CHUNK": self._thought,
            "THINKING_TEXT_MESSAGE_CONTENT": self._thought,  # before AG-UI 1.0
            "STEP_STARTED": self._step,
            "TOOL_CALL_START": self._begin_call,
            "TOOL_CALL_ARGS": self._arguments,
            "TOOL_CALL_CHUNK": self._call_chunk,
            "TOOL_CALL_END": self._end_call,
            "TOOL_CALL_RESULT": self._result,
            "STATE_SNAPSHOT": self._snapshot,
            "STATE_DELTA": self._delta,
            "MESSAGES_SNAPSHOT": self._messages,
            "ACTIVITY_SNAPSHOT": self._activity,
            "CUSTOM": self._custom,
            "RUN_FINISHED": self._finished,
            "RUN_ERROR": self._error,
        }

    def add(self, data: bytes) -> Iterator[AgentEvent]:
        """Yield the agent's events for one event of AG-UI.

        Raises:
            AgentFailedError: The run failed, or the event is invalid.
        """
        try:
            event = json.loads(data)
            if (convert := self._conversions.get(event["type"])) is not None:
                yield from convert(event)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            cause = RuntimeError(f"{type(error).__name__}: {quote(data.decode(errors='replace'))}")
            raise AgentFailedError("model_unavailable") from cause

    def finish(self) -> Iterator[AgentEvent]:
        """Yield what is only known at the end: messages that were not streamed, state and usage.

        Raises:
            AgentFailedError: The stream was cut.
        """
        if not self.is_ended:
            raise AgentFailedError("model_unavailable") from RuntimeError("the stream was cut")
        if not self._texts:
            for message_id, text in self._new_texts():
                yield from self._say(message_id, text)
        if self._conversation.state != self._state_before:
            yield Output([Data(self._conversation.state)], STATE)
        if self._usage != TokenUsage():
            yield TaskMetadata(self._usage.as_metadata())

    def _new_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the ids and texts of the run's messages in the conversation."""
        for message in self._conversation.messages:
            content = message.get("content")
            is_new = message.get("role") == "assistant" and message["id"] not in self._known
            if is_new and content and isinstance(content, str):
                yield message["id"], content

    def _text(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        if event.get("role", "assistant") != "assistant":
            return
        message_id = str(event.get("messageId") or self._last_id)
        message = self._texts.get(message_id)
        if message is None:
            message = {"id": message_id, "role": "assistant", "content": ""}
            self._texts[message_id] = message
            self._conversation.messages.append(message)
        if delta := str(event.get("delta") or ""):
            message["content"] += delta
            yield from self._say(message_id, delta)

    def _say(self, message_id: str, text: str) -> Iterator[AgentEvent]:
        before, self._last_id = self._last_id, message_id
        self._said.append(f"\n{text}" if before not in {"", message_id} else text)
        yield TextDelta(self._said[-1])

    def _thought(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        if delta := str(event.get("delta") or ""):
            yield Progress(delta, {"type": "thought"})

    def _step(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        yield Progress(str(event["stepName"]))

    def _begin_call(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        call_id = str(event["toolCallId"])
        call = {
            "id": call_id,
            "type": "function",
            "function": {"name": str(event["toolCallName"]), "arguments": ""},
        }
        self._calls[call_id] = call
        self._open_calls.add(call_id)
        message = {"id": f"{call_id}:call", "role": "assistant", "toolCalls": [call]}
        self._conversation.messages.append(message)
        return iter(())

    def _arguments(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        self._calls[str(event["toolCallId"])]["function"]["arguments"] += str(event["delta"])
        return iter(())

    def _end_call(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        call_id = str(event["toolCallId"])
        if call_id in self._open_calls:
            self._open_calls.remove(call_id)
            function = self._calls[call_id]["function"]
            yield ToolCall(call_id, function["name"], tool_arguments(function["arguments"]))

    def _call_chunk(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        if str(event.get("toolCallId")) not in self._calls:
            yield from self._begin_call(event)
        if event.get("delta"):
            yield from self._arguments(event)

    def _result(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        call_id, content = str(event["toolCallId"]), event["content"]
        yield from self._end_call(event)  # chunks of calls have no end
        call = self._calls.get(call_id)
        message = {"id": event["messageId"], "role": "tool", "toolCallId": call_id}
        self._conversation.messages.append({**message, "content": content})
        yield ToolResult(call_id, call["function"]["name"] if call else "", as_json(content))

    def _snapshot(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        self._conversation.state = as_json(event["snapshot"])
        return iter(())

    def _delta(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        try:
            patch = jsonpatch.JsonPatch(event["delta"])
            state = {} if self._conversation.state is None else self._conversation.state
            self._conversation.state = as_json(patch.apply(state))
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
            raise ValueError("an invalid patch") from error
        return iter(())

    def _messages(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        messages = [dict(message) for message in event["messages"]]
        by_id = {message["id"]: message for message in messages}
        self._conversation.messages[:] = messages
        # Unfinished texts continue in the messages of the snapshot.
        self._texts = {name: by_id.get(name, text) for name, text in self._texts.items()}
        text = "\n".join(text for _, text in self._new_texts())
        if is_corrected("".join(self._said), text):
            self._said = [text]
            yield AnswerText(text)

    def _activity(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        content = event["content"]
        operations = next((content[name] for name in _INTERFACES if name in content), None)
        if event["activityType"] == "a2ui-surface" and operations:
            yield Output([Data(as_json(operations))], extensions=[A2UI_EXTENSION])
        else:
            yield Progress("", as_json({"name": event["activityType"], "value": content}))

    def _custom(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        yield Progress("", as_json({"name": event["name"], "value": event.get("value")}))

    def _finished(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        self.is_ended = True
        outcome = event.get("outcome") or {}
        if outcome.get("type") == "cancelled":
            raise AgentFailedError("internal", "The run was cancelled.")
        if outcome.get("type") == "interrupt":
            self.interrupts = [
                {**each, "id": str(each["id"]), "reason": str(each["reason"])}
                for each in outcome["interrupts"]
            ]
        for each in event.get("usage") or ():
            given, made = each.get("inputTokens") or 0, each.get("outputTokens") or 0
            total = each.get("totalTokens") or given + made
            self._usage += TokenUsage(int(given), int(made), int(total))
        if event.get("result") is not None:
            yield Output([Data(as_json(event["result"]))])

    def _error(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        self.is_ended = True
        reason = quote(str(event["message"]), _LONGEST_REASON)
        if event.get("code") != "rejected":
            raise AgentFailedError("internal", reason)
        yield Rejected(reason)
