"""Converts agents' answers to tool results."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from mcp.types import CallToolResult

from a2a_adapters import Data, File, Part, Text
from a2a_adapters.dialects import one_line
from a2a_adapters_mcp.offering.resources import address, contents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters import AgentReply
    from a2a_adapters.plugin import AgentDescription

_SCHEMA = "json_schema"
"""Metadata key of received data."""

_FILENAME = "a2a-adapters/filename"
"""Metadata key of files."""

_ENDED_BADLY = {"failed", "rejected", "canceled"}
_ASK_AGAIN = (
    "The agent is waiting for an answer to the question above. Call this tool again with "
    "the answer as message and task_id {!r}."
)
_GO_ON = "To continue this conversation, pass context_id {!r}."
_FOR_MODELS = {"annotations": {"audience": ["assistant"]}}


def to_result(
    reply: AgentReply, *, is_typed: bool = False, tells_conversation: bool = False
) -> CallToolResult:
    """Convert an answer to a tool result: text, files, and data as structured content.

    Args:
        reply: The answer.
        is_typed: Whether the tool has an output schema. Questions are then errors, as they
            do not match it.
        tells_conversation: Whether to tell the model how to continue the conversation, because
            there are no sessions.
    """
    parts = list(reply.parts)
    if reply.state in _ENDED_BADLY:
        parts += [part for part in reply.status_parts if part not in parts]
        if not any(isinstance(part, Text) for part in parts):
            parts.append(Text(f"The task was {reply.state}."))
    places = [
        (artifact.id, number)
        for artifact in reply.artifacts
        for number, _ in enumerate(artifact.parts)
    ]
    others = (("status", number) for number in count())
    content = [
        _block(part, reply.task_id, *place)
        for part, place in zip(parts, chain(places, others), strict=False)
    ]
    structured = _structured(parts)
    if reply.is_question:
        content.append(_text(_ASK_AGAIN.format(reply.task_id)))
        structured = {
            "state": reply.state,
            "task_id": reply.task_id,
            "context_id": reply.context_id,
            "question": reply.question,
            **({"answer": structured} if structured else {}),
        }
    elif tells_conversation and reply.context_id and reply.state not in _ENDED_BADLY:
        content.append(_text(_GO_ON.format(reply.context_id)) | _FOR_MODELS)
    return CallToolResult.model_validate(
        {
            "content": content,
            "isError": reply.state in _ENDED_BADLY or (is_typed and reply.is_question),
            "_meta": _about(reply, parts),
            **({} if structured is None else {"structuredContent": structured}),
        }
    )


def output_schema(about: AgentDescription, skill_id: str | None = None) -> dict[str, Any] | None:
    """Return the JSON schema of a tool's structured content, None if unknown.

    It is that of the given skill, or of the agent's only skill.
    """
    skills = [skill for skill in about.skills if skill_id in (None, skill.id)]
    schema = dict(skills[0].output_schema or {}) if len(skills) == 1 else {}
    match schema.get("type"):
        case "object":
            return schema
        case str():
            definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
            data = {"type": "array", "items": schema}
            return {
                "type": "object",
                "properties": {"data": data},
                "required": ["data"],
                **definitions,
            }
    return None


def error(text: str) -> CallToolResult:
    """Return an error result."""
    return CallToolResult.model_validate({"content": [_text(text)], "isError": True})


def _about(reply: AgentReply, parts: Sequence[Part]) -> dict[str, Any]:
    data = (part for part in parts if isinstance(part, Data))
    schemas = [schema for part in data if (schema := part.metadata.get(_SCHEMA))]
    return {
        "a2a-adapters/state": reply.state,
        "a2a-adapters/taskId": reply.task_id,
        "a2a-adapters/contextId": reply.context_id,
        **({"a2a-adapters/schemas": schemas} if schemas else {}),
    }


def _structured(parts: Sequence[Part]) -> Mapping[str, Any] | None:
    """Return data as the object required by MCP."""
    values = [part.value for part in parts if isinstance(part, Data)]
    if not values:
        return None
    if len(values) == 1 and isinstance(values[0], Mapping):
        return values[0]
    return {"data": values}


def _block(part: Part, task_id: str, artifact_id: str, number: int) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return _text(text)
        case Data(value=value):
            return _text(one_line(value).decode())
        case File(url=str(url)):
            name = part.filename or url.rpartition("/")[2] or "file"
            return {"type": "resource_link", "uri": url, "name": name, **_media_type(part)}
        case File():
            return _file(part, address(task_id, artifact_id, number, part.filename))


def _file(part: File, uri: str) -> dict[str, Any]:
    about = {"_meta": {_FILENAME: part.filename}} if part.filename else {}
    body = contents(part) or {}
    kind = part.media_type.partition("/")[0]
    if kind in {"image", "audio"} and "blob" in body:
        return {"type": kind, "data": body["blob"], "mimeType": part.media_type, **about}
    return {"type": "resource", "resource": {"uri": uri, **body}, **about}


def _media_type(part: File) -> dict[str, str]:
    return {"mimeType": part.media_type} if part.media_type else {}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
