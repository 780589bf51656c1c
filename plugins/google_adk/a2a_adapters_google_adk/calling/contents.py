"""Converts between the contents of ADK and A2A parts."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from google.genai.types import (
    Blob,
    Content,
    FileData,
    FunctionCall,
    GenerateContentResponseUsageMetadata,
)
from google.genai.types import Part as GenaiPart

from a2a_adapters import AgentReply, Data, File, Part, Text
from a2a_adapters.plugin import as_json
from a2a_adapters_google_adk.serving.questions import INPUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def as_parts(contents: Sequence[GenaiPart] | None) -> Iterator[Part]:
    """Yield the words and files of a content; tool calls and reasoning are not for other agents."""
    for part in contents or ():
        if part.text and not part.thought:
            yield Text(part.text)
        elif blob := part.inline_data:
            media_type, filename = blob.mime_type or "", blob.display_name or ""
            yield File(content=blob.data or b"", media_type=media_type, filename=filename)
        elif linked := part.file_data:
            yield File(url=linked.file_uri, media_type=linked.mime_type or "")


def answers(contents: Sequence[GenaiPart] | None) -> Iterator[tuple[str, Part]]:
    """Yield the user's answers to calls for input, each with the id of its call."""
    for response in (part.function_response for part in contents or () if part.function_response):
        if response.name == INPUT:
            given = response.response or {}
            value = given.get("result", given)
            answer = Text(value) if isinstance(value, str) else Data(as_json(value))
            yield response.id or "", answer


def input_call(reply: AgentReply, **place: str) -> FunctionCall:
    """Return the call by which a question asks for the user's input."""
    data = [part.value for part in reply.status_parts if isinstance(part, Data)]
    call_id = uuid4().hex
    asked = {"interruptId": call_id, "message": reply.question, "payload": data or None}
    return FunctionCall(id=call_id, name=INPUT, args={**asked, **place})


def words(text: str) -> Content:
    """Return a text as the content of a model."""
    return Content(role="model", parts=[GenaiPart(text=text)])


def as_content(reply: AgentReply) -> Content:
    """Return an answer as the content of a model: its text, its data as text, and its files."""
    files = [_file(part) for part in reply.parts if isinstance(part, File)]
    text = [GenaiPart(text=reply.whole_text)] if reply.whole_text else []
    return Content(role="model", parts=[*text, *files])


def as_usage(reply: AgentReply) -> GenerateContentResponseUsageMetadata | None:
    """Return the tokens of an answer."""
    if (usage := reply.counted_usage(__name__)) is None:
        return None
    return GenerateContentResponseUsageMetadata(
        prompt_token_count=usage.input_tokens,
        candidates_token_count=usage.output_tokens,
        total_token_count=usage.total_tokens,
    )


def _file(file: File) -> GenaiPart:
    media_type = file.guess_media_type()
    if file.content is None:
        return GenaiPart(file_data=FileData(file_uri=file.url, mime_type=media_type))
    filename = file.filename or None
    return GenaiPart(
        inline_data=Blob(data=file.content, mime_type=media_type, display_name=filename)
    )
