"""Converts the messages of a run to adapter events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    StreamEvent,
    TaskNotificationMessage,
    TaskStartedMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from a2a_adapters import AgentEvent, Progress, TaskMetadata, TextDelta, TokenUsage
from a2a_adapters.plugin import AnswerText, ToolCalls, as_output
from a2a_adapters_claude_agent.serving.questions import relative

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions, Message

    from a2a_adapters.plugin import JSON

_CHANGING = ("PreToolUse", "PermissionRequest")
"""Hooks that may change or refuse the arguments of a tool."""
CHECKING = "Stop"
"""The hook that may refuse a finished answer."""
_CHECKING_SUBAGENTS = "SubagentStop"
_OUTPUT_TOOL = "StructuredOutput"


class RunEvents:
    """Converts the messages of one run.

    The answer is the result of the run, the text of the last message, which is streamed. What the
    agent says before it uses a tool is progress.

    Attributes:
        result: The result of the run, once it has ended.
        fault: The kind of the last failed call of the model.

    Args:
        options: The options of the agent.
        folder: The working folder, which is not shown.
        hooks: The events that have hooks.
        wants_progress: Whether the client follows the progress.
        streams: Whether text is yielded before the run has ended.
    """

    def __init__(
        self,
        options: ClaudeAgentOptions,
        folder: str,
        hooks: set[str],
        *,
        wants_progress: bool,
        streams: bool,
    ) -> None:
        self.result: ResultMessage | None = None
        self.fault = ""
        self._schema = (options.output_format or {}).get("schema")
        self._hooks = hooks
        self._hides = bool(options.can_use_tool or hooks & {*_CHANGING})
        self._folder = folder
        self._wants_progress = wants_progress
        self._streams = streams and not options.output_format
        self._calls = ToolCalls()
        self._text = ""

    def take(self, message: Message) -> Iterator[AgentEvent]:
        """Yield the adapter events for a message of the framework."""
        match message:
            case StreamEvent(parent_tool_use_id=None, event=event):
                yield from self._streamed(event)
            case AssistantMessage():
                self.fault = message.error or ""
                is_main = message.parent_tool_use_id is None
                for block in message.content:
                    yield from self._said(block, is_main=is_main)
            case UserMessage(content=list(blocks)) if self._wants_progress:
                for block in blocks:
                    if isinstance(block, ToolResultBlock) and block.tool_use_id in self._calls:
                        yield from self._returned(block)
            case TaskStartedMessage(description=text) if self._wants_progress:
                yield self._progress(text, "subagent", id=message.task_id, status="started")
            case TaskNotificationMessage(summary=text) if self._wants_progress:
                text = text if self._shows(is_main=False) else message.status
                yield self._progress(text, "subagent", id=message.task_id, status=message.status)
            case ResultMessage():
                self.result = message
                yield from self._usage(message)

    def withdraw(self) -> Iterator[AgentEvent]:
        """Withdraw the text so far, because it is not the last message."""
        if self._text:
            self._text = ""
            yield AnswerText("")

    def end(self) -> Iterator[AgentEvent]:
        """Yield the rest of the answer of a run that has ended."""
        assert self.result is not None  # noqa: S101 - it was checked
        text = "" if self._schema else self.result.result or ""
        text = text if text.strip() else ""
        if text != self._text or not self._streams:
            yield AnswerText(text)
        if converted := as_output(self.result.structured_output, schema=self._schema):
            yield converted

    def _streamed(self, event: dict[str, Any]) -> Iterator[AgentEvent]:
        match event:
            case {"type": "message_start"}:  # what was said before is not the last word
                yield from self.withdraw()
            case {"delta": {"type": "text_delta", "text": str(text)}} if self._streams:
                self._text += text
                yield TextDelta(text)

    def _said(self, block: object, *, is_main: bool) -> Iterator[AgentEvent]:
        match block:
            case ThinkingBlock(thinking=text) if text and self._shows(is_main=is_main):
                yield self._progress(text, "thought")
            case TextBlock(text=text) if not is_main and self._shows(is_main=False):
                yield self._progress(text, "text")
            case ToolUseBlock(id=call_id, name=name, input=given) if name != _OUTPUT_TOOL:
                if is_main:
                    said = self._text
                    yield from self.withdraw()
                    if said.strip() and self._wants_progress:
                        yield self._progress(said, "text")
                if self._wants_progress:
                    arguments = None if self._hides else relative(given, self._folder)
                    yield from self._calls.started(call_id, name, arguments)

    def _shows(self, *, is_main: bool) -> bool:
        """Whether to report what the agent thinks, or what a subagent thinks and says."""
        checking = CHECKING if is_main else _CHECKING_SUBAGENTS
        return self._wants_progress and checking not in self._hooks

    def _returned(self, block: ToolResultBlock) -> Iterator[AgentEvent]:
        content = block.content
        if isinstance(content, list) and all(each.get("type") == "text" for each in content):
            content = "\n".join(each["text"] for each in content)
        shown = relative(content, self._folder)
        yield from self._calls.finished(block.tool_use_id, shown, is_error=bool(block.is_error))

    def _progress(self, text: str, kind: str, **about: str) -> Progress:
        return Progress(str(relative(text, self._folder)), {"kind": kind, **about})

    def _usage(self, result: ResultMessage) -> Iterator[AgentEvent]:
        used = result.usage or {}
        cached = (used.get(f"cache_{kind}_input_tokens") or 0 for kind in ("creation", "read"))
        given, made = (used.get("input_tokens") or 0) + sum(cached), used.get("output_tokens") or 0
        tokens = TokenUsage(given, made, given + made)
        values: dict[str, JSON] = tokens.as_metadata() if tokens.total_tokens else {}
        if cost := result.total_cost_usd:
            values["cost_envelope"] = {"actual": cost, "currency": "USD"}
        if values:
            yield TaskMetadata(values)
