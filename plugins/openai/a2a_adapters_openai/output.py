"""Answers of agents as text, the only format that every client displays."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, TypeAlias

from pydantic_core import from_json, to_json

from a2a_adapters import Data, File, Part, TextDelta, ToolCall, ToolResult
from a2a_adapters.dialects import correction
from a2a_adapters.plugin import as_text
from a2a_adapters_openai.errors import ApiError, failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from a2a_adapters import AgentReply
    from a2a_adapters.dialects import Answer
    from a2a_adapters.plugin import ProgressEvent

    NewEvent: TypeAlias = TextDelta | ProgressEvent

_NOT_JSON = "the agent's answer is not JSON, as response_format requires"


def finish(answer: Answer) -> tuple[list[NewEvent], AgentReply]:
    """Return the last events of an answer, and the whole answer.

    Raises:
        ApiError: The task ended without an answer.
    """
    news, reply = answer.finish()
    if error := failure(reply):
        raise error
    return news, reply


def rest_of(reply: AgentReply, *, has_text: bool) -> str:
    """Return the data and files of an answer, and the choices of a question, as text.

    Args:
        reply: The answer.
        has_text: Whether text precedes it; a blank line then separates them.
    """
    parts: Sequence[Part] = reply.parts
    if reply.is_question:  # its data repeats the question for programs
        parts = [part for part in parts if not isinstance(part, Data) or not has_text]
    shown = [shown for part in parts if (shown := _shown(part))]
    if choices := _choices(reply):
        shown.append(f"Choices: {', '.join(choices)}")
    text = "\n\n".join(shown)
    return f"\n\n{text}" if text and has_text else text


def json_of(reply: AgentReply) -> str:
    """Return an answer as JSON, for structured output.

    Raises:
        ApiError: The answer is neither data nor text that is JSON.
    """
    if reply.data:
        return to_json(reply.data[0] if len(reply.data) == 1 else reply.data).decode()
    try:
        from_json(reply.text, allow_inf_nan=False)
    except ValueError as error:
        raise ApiError(422, _NOT_JSON, kind="agent_error", code="invalid_output") from error
    return reply.text


def remaining(news: Sequence[object], reply: AgentReply, *, is_json: bool, said: str = "") -> str:
    """Return the part of a finished answer that is not sent yet.

    An answer that was corrected is repeated, because clients append what they receive.

    Args:
        news: The last changes of the answer.
        reply: The whole answer.
        is_json: Whether the text must be JSON; none of it has been sent yet.
        said: The text that has been sent.

    Raises:
        ApiError: It must be JSON and is not.
    """
    if is_json and not reply.is_question:
        return json_of(reply)
    text = reply.text
    if not is_json:
        text = "".join(each.text for each in news if isinstance(each, TextDelta))
        text += correction(said + text, reply.text)
    return text + rest_of(reply, has_text=bool(said or text))


def whole(reply: AgentReply, *, is_json: bool) -> str:
    """Return an answer as text.

    Raises:
        ApiError: It must be JSON and is not.
    """
    return remaining((TextDelta(reply.text),), reply, is_json=is_json)


def progress_text(event: NewEvent) -> str:
    """Return a progress event as a line of reasoning, which clients display separately."""
    match event:
        case ToolCall(name=name, arguments=None):
            return f"{name}()\n"
        case ToolCall(name=name, arguments=arguments):
            return f"{name}({to_json(arguments).decode()})\n"
        case ToolResult(name=name, is_error=is_error):
            return f"{name} {'failed' if is_error else 'finished'}\n"
        case _:
            return f"{event.text}\n" if event.text else ""


def _shown(part: Part) -> str:
    match part:
        case Data():
            return as_text([part])
        case File():
            return _link(part)
        case _:
            return ""


def _link(file: File) -> str:
    """Return a file in Markdown: an image, or a link."""
    media_type = file.guess_media_type()
    content = base64.b64encode(file.content or b"").decode()
    url = file.url or f"data:{media_type};base64,{content}"
    name = (file.filename or "file").translate({ord(c): None for c in "[]\n"})
    return f"{'!' if media_type.startswith('image/') else ''}[{name}]({url})"


def _choices(reply: AgentReply) -> list[str]:
    """Return the choices of a question unless its text names all of them."""
    if not reply.is_question:
        return []
    asked = reply.question
    schemas = (part.value for part in reply.status_parts if isinstance(part, Data))
    found = [choice for schema in schemas for choice in _enumerated(schema)]
    return [] if all(choice in asked for choice in found) else found


def _enumerated(schema: object) -> Iterator[str]:
    """Yield the texts below each `enum` of a JSON schema."""
    match schema:
        case {"enum": [*choices]}:
            yield from (choice for choice in choices if isinstance(choice, str))
        case dict():
            inner: Mapping[str, object] = schema
            for each in inner.values():
                yield from _enumerated(each)
