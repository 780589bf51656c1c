"""Converts an agent's updates to events."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AudioContentBlock,
    BlobResourceContents,
    ContentToolCallContent,
    EmbeddedResourceContentBlock,
    FileEditToolCallContent,
    ImageContentBlock,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
)

from a2a_adapters import (
    AgentEvent,
    File,
    Output,
    Progress,
    TaskMetadata,
    Text,
    TextDelta,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from a2a_adapters.plugin import as_json
from a2a_adapters_acp.serving.diffs import patch_of
from a2a_adapters_acp.serving.paths import inside, name_of, shown

if TYPE_CHECKING:
    from pathlib import Path

    from acp.schema import PromptResponse

    from a2a_adapters.plugin import JSON

Update: TypeAlias = Any
"""An update of a session, of a class in `acp.schema`."""

_READ: Collection[str] = frozenset(
    model.model_fields["session_update"].annotation.__args__[0]  # type: ignore[union-attr]
    for model in (
        AgentMessageChunk,
        AgentPlanUpdate,
        AgentThoughtChunk,
        ToolCallProgress,
        ToolCallStart,
        UsageUpdate,
    )
)
_MOST_CALLS = 10_000
_MOST_FILES = 100
_FILE_BYTES = 1024 * 1024
_ARGUMENTS = 64 * 1024
_TITLE = 200
_ENDED = ("completed", "failed")


def is_read(message: Mapping[str, Any]) -> bool:
    """Whether a message is a request, a response, or an update of a supported kind."""
    if message.get("method") != "session/update":
        return "id" in message
    params = message.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    return isinstance(update, dict) and update.get("sessionUpdate") in _READ


class TurnReader:
    """Converts the updates of one turn.

    Args:
        folder: The working folder, resolved.
        wants_progress: Whether to report thoughts, plans and tools.
        wants_files: Whether to add the changed files to the answer, besides their patches.
    """

    def __init__(self, folder: Path, *, wants_progress: bool, wants_files: bool) -> None:
        self._folder = folder
        self._wants_progress = wants_progress
        self._wants_files = wants_files
        self._calls: dict[str, dict[str, Any]] = {}
        self._proposed: dict[str, list[FileEditToolCallContent]] = {}
        self._changed: dict[str, None] = {}
        self._message: str | None = None
        self._has_spoken = False
        self._is_interrupted = False
        self._context: dict[str, JSON] = {}
        self._usage = self._counted = TokenUsage()

    def read(self, update: Update) -> Iterator[AgentEvent]:
        """Yield the events of an update."""
        match update:
            case AgentMessageChunk(content=TextContentBlock(text=""), field_meta=metadata):
                self._counted += _usage_of(metadata)
            case AgentMessageChunk(content=TextContentBlock(text=text)):
                yield TextDelta(self._separated(update, text))
            case AgentMessageChunk(content=content):
                yield from self._attachment(content)
            case AgentThoughtChunk(content=TextContentBlock(text=text)) if self._wants_progress:
                yield Progress(text, {"type": "thought"})
            case AgentPlanUpdate() if self._wants_progress:
                yield self._plan(update)
            case ToolCallStart() | ToolCallProgress():
                self._is_interrupted = True
                yield from self._tool(update)
            case ToolCallUpdate():  # of a request for permission
                self._proposed[update.tool_call_id] = _diffs(update.content)
            case UsageUpdate():
                self._context = _context_window(update)

    def end(self, response: PromptResponse) -> Iterator[AgentEvent]:
        """Yield the changed files and the usage after a prompt's last update."""
        self._is_interrupted = True
        for path in self._changed if self._wants_files else ():
            if (file := inside(path, self._folder)) and (content := _read(file)) is not None:
                name = name_of(path, self._folder)
                yield Output([File(content=content, filename=name)], name)
        values: dict[str, JSON] = {}
        if used := response.usage:
            counted = TokenUsage(used.input_tokens, used.output_tokens, used.total_tokens)
        else:
            counted = self._counted
        if counted.total_tokens:
            self._usage += counted
            values |= self._usage.as_metadata()
        self._counted = TokenUsage()
        if self._context:
            values["context_window"] = self._context
        if response.stop_reason != "end_turn":
            values["stop_reason"] = response.stop_reason
        if values:
            yield TaskMetadata(values)

    def _separated(self, chunk: AgentMessageChunk, text: str) -> str:
        """Return a text, preceded by a blank line if it starts another message."""
        is_new = self._is_interrupted or chunk.message_id != self._message
        separator = "\n\n" if is_new and self._has_spoken else ""
        self._message, self._has_spoken, self._is_interrupted = chunk.message_id, True, False
        return separator + text

    def _attachment(self, content: object) -> Iterator[AgentEvent]:
        match content:
            case ImageContentBlock() | AudioContentBlock():
                file = File(content=_decoded(content.data), media_type=content.mime_type)
            case EmbeddedResourceContentBlock(resource=resource):
                is_blob = isinstance(resource, BlobResourceContents)
                body = _decoded(resource.blob) if is_blob else resource.text.encode()
                name = name_of(resource.uri.rpartition("/")[2], self._folder)
                file = File(content=body, media_type=resource.mime_type or "", filename=name)
            case _:
                return
        yield Output([file], file.filename)

    def _plan(self, update: AgentPlanUpdate) -> Progress:
        entries = [
            {
                "content": shown(entry.content, self._folder, _TITLE),
                "status": entry.status,
                "priority": entry.priority,
            }
            for entry in update.entries[:_MOST_FILES]
        ]
        done = sum(entry.status == "completed" for entry in update.entries)
        active = next((e["content"] for e in entries if e["status"] == "in_progress"), "")
        text = f"Plan: {done} of {len(update.entries)} done"
        return Progress(f"{text}; {active}" if active else text, {"type": "plan", "plan": entries})

    def _tool(self, update: ToolCallStart | ToolCallProgress) -> Iterator[AgentEvent]:
        known = self._calls.get(update.tool_call_id)
        if known is None:
            if len(self._calls) >= _MOST_CALLS:
                return
            known = self._calls[update.tool_call_id] = {"status": None, "content": [], "diffs": []}
            known["name"] = shown(update.title or update.kind or "tool", self._folder, _TITLE)
            if self._wants_progress:
                yield ToolCall(update.tool_call_id, known["name"], self._bounded(update.raw_input))
        if known["status"] in _ENDED:
            return
        known["content"] = update.content or known["content"]
        known["diffs"] = _diffs(update.content) or known["diffs"]
        known["status"] = update.status
        if update.status not in _ENDED:
            return
        # Some agents show a change only in their request for permission.
        diffs = known["diffs"] or self._proposed.pop(update.tool_call_id, [])
        if self._wants_progress:
            result = self._result(known["content"], update.raw_output)
            yield ToolResult(
                update.tool_call_id, known["name"], result, is_error=update.status == "failed"
            )
        if update.status == "completed":
            yield from self._patches(diffs)
        known["content"] = known["diffs"] = []

    def _patches(self, diffs: Sequence[FileEditToolCallContent]) -> Iterator[AgentEvent]:
        for diff in diffs:
            if not (patch := patch_of(diff, self._folder)):
                continue
            if len(self._changed) < _MOST_FILES:
                self._changed[diff.path] = None
            name = name_of(diff.path, self._folder)
            yield Output([Text(patch, "text/x-diff")], f"{name}.patch", metadata={"path": name})

    def _result(self, content: Sequence[object], raw: object) -> JSON:
        texts = [
            each.content.text
            for each in content
            if isinstance(each, ContentToolCallContent)
            and isinstance(each.content, TextContentBlock)
        ]
        return shown("\n".join(texts), self._folder) if texts else self._bounded(raw)

    def _bounded(self, value: object) -> JSON:
        """Return a tool's arguments or result with relative paths, clipped to text if large."""
        plain = as_json(value)
        if len(text := str(plain)) > _ARGUMENTS:
            return shown(text, self._folder)
        return _relative(plain, f"{self._folder}/")


def _usage_of(metadata: Mapping[str, Any] | None) -> TokenUsage:
    """Return the tokens of a model call, which Qwen Code reports with an empty chunk."""
    match metadata:
        case {"usage": {"inputTokens": int(given), "outputTokens": int(made)}}:
            return TokenUsage(given, made, given + made)
    return TokenUsage()


def _diffs(content: Sequence[object] | None) -> list[FileEditToolCallContent]:
    diffs = [each for each in content or () if isinstance(each, FileEditToolCallContent)]
    return diffs[:_MOST_FILES]


def _context_window(update: UsageUpdate) -> dict[str, JSON]:
    cost = {} if update.cost is None else {"cost": as_json(update.cost.model_dump())}
    return {"used": update.used, "size": update.size, **cost}


def _relative(value: Any, prefix: str) -> JSON:
    match value:
        case str():
            return value.replace(prefix, "")
        case dict():
            return {str(key): _relative(each, prefix) for key, each in value.items()}
        case list():
            return [_relative(each, prefix) for each in value]
        case _:
            plain: JSON = value
            return plain


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except ValueError:
        return b""


def _read(file: Path) -> bytes | None:
    """Return a file's bytes; None if it is too large, missing or not a regular file."""
    try:
        is_readable = file.is_file() and file.stat().st_size <= _FILE_BYTES
        return file.read_bytes() if is_readable else None
    except OSError:
        return None
