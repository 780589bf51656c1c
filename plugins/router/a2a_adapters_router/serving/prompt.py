"""Converts A2A messages to chat models' messages."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from a2a_adapters import Data, File, InvalidInputError
from a2a_adapters.plugin import as_text
from a2a_adapters_router.calls import Prompt, need_of
from a2a_adapters_router.choice import is_choice

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from a2a_adapters import AgentRequest, Part
    from a2a_adapters_router.calls import Message
    from a2a_adapters_router.choice import Choice

_ROLE = "role"
"""Metadata key of a part: its role."""

_CALL = "tool_call_id"
"""Metadata key of a part: the tool call it answers."""

_ROLES = ("system", "user", "assistant", "tool")
_CALLS = "tool_calls"


def prompt_of(request: AgentRequest, choice: Choice) -> Prompt:
    """Return the conversation in the chat models' format.

    Raises:
        InvalidInputError: The message is empty or has content that no model supports.
    """
    messages: list[Message] = []
    for turn in request.history:
        if turn.role == "user":
            _add(messages, turn.parts)
        elif (answer := _answer(turn.parts))["content"] or answer.get(_CALLS):
            messages.append(answer)
    earlier = len(messages)
    _add(messages, request.parts)
    if len(messages) == earlier:
        raise InvalidInputError("the message needs text or files")
    sent = [turn.parts for turn in request.history if turn.role == "user"]
    files = [part for parts in (*sent, request.parts) for part in parts if isinstance(part, File)]
    return Prompt(messages, files, choice.params)


def _answer(parts: Sequence[Part]) -> Message:
    """Return an answer of the router, ignoring roles set by its agents."""
    calls = [call for part in parts for call in _calls(part)]
    text = as_text(part for part in parts if not _calls(part))
    answer: Message = {"role": "assistant", "content": text}
    if calls:
        answer["tool_calls"] = calls
    return answer


def _add(messages: list[Message], parts: Iterable[Part]) -> None:
    """Add a caller's parts; files join the preceding text of the same role."""
    for part in parts:
        if is_choice(part):
            continue
        message = _message(part)
        if not (message["content"] or message.get(_CALLS)):
            continue
        blocks = message["content"]
        last = messages[-1] if messages else None
        if isinstance(blocks, list) and last is not None and last["role"] == message["role"]:
            content = last["content"]
            text = [{"type": "text", "text": content}] if isinstance(content, str) else content
            last["content"] = [*text, *blocks]
        else:
            messages.append(message)


def _message(part: Part) -> Message:
    role = part.metadata.get(_ROLE, "user")
    if role not in _ROLES:
        raise InvalidInputError(f"a part's role must be one of {', '.join(_ROLES)}")
    if isinstance(part, File):
        return {"role": str(role), "content": [_block(part)]}
    if role == "tool":
        call_id = part.metadata.get(_CALL)
        if not isinstance(call_id, str):
            raise InvalidInputError(f"a tool result must name its call with {_CALL!r}")
        return {"role": "tool", "content": as_text([part]), "tool_call_id": call_id}
    if role == "assistant" and (calls := _calls(part)):
        return {"role": "assistant", "content": "", "tool_calls": calls}
    return {"role": str(role), "content": as_text([part])}


def _calls(part: Part) -> list[dict[str, Any]]:
    match part:
        case Data(value={"tool_calls": [*calls]}) if all(isinstance(each, dict) for each in calls):
            return [dict(each) for each in calls]
        case _:
            return []


def _block(file: File) -> dict[str, Any]:
    """Return a file in the format of OpenAI's chat completions.

    Raises:
        InvalidInputError: No model supports the media type, or the file is a URL.
    """
    content = file.received()
    try:
        need = need_of(file.media_type)
        text = "" if need else content.decode()
    except (KeyError, UnicodeDecodeError):
        kind = file.media_type or "unknown type"
        raise InvalidInputError(f"no model supports files of {kind}") from None
    if not need:
        return {"type": "text", "text": f"{file.filename}:\n{text}" if file.filename else text}
    encoded = base64.b64encode(content).decode()
    url = f"data:{file.media_type};base64,{encoded}"
    match need:
        case "vision":
            return {"type": "image_url", "image_url": {"url": url}}
        case "audio_input":
            kind = file.media_type.partition("/")[2].removeprefix("x-")
            name = {"mpeg": "mp3", "wave": "wav"}.get(kind, kind)
            return {"type": "input_audio", "input_audio": {"data": encoded, "format": name}}
        case _:
            name = file.filename or "file.pdf"
            return {"type": "file", "file": {"filename": name, "file_data": url}}
