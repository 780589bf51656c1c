"""From what a runnable returns to parts and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.prompt_values import PromptValue

from a2a_adapters import Data, File, Output, Part, Text, without_reasoning
from a2a_adapters_langchain.serving.content import message_parts
from a2a_adapters_langchain.serving.schema import (
    Schema,
    holds_messages,
    output_schema,
    schema_of_value,
)

if TYPE_CHECKING:
    from a2a_adapters_langchain.serving.schema import AnyRunnable

ANSWER = "answer"
"""Name of the artifact with the answer's text."""


def declared_schema(runnable: AnyRunnable) -> Schema | None:
    """Return the schema of a structured output; None if it is text, messages or unknown."""
    schema = output_schema(runnable)
    properties = schema.get("properties", {})
    if any(holds_messages(value) for value in properties.values()):
        return None
    return schema if properties and "content" not in properties else None


def outputs(value: object, schema: Schema | None = None) -> list[Output]:
    """Return a runnable's result as an output; none for None and the empty text.

    `schema` describes objects that do not know their own.
    """
    parts = _parts(value, schema)
    if not parts:
        return []
    has_text = any(isinstance(part, Text) for part in parts)
    return [Output(parts, name=ANSWER if has_text else "")]


def is_message_list(value: object) -> TypeGuard[list[BaseMessage]]:
    """Whether it is a list of messages, of at least one."""
    return isinstance(value, list) and bool(value) and isinstance(value[-1], BaseMessage)


def _parts(value: object, schema: Schema | None) -> Sequence[Part]:
    match _last_message(value):
        case None:
            return ()
        case str() as text:
            answer = without_reasoning(str(text))
            return (Text(answer),) if answer else ()
        case BaseMessage() as message:
            return message_parts(message)
        case Text() | File() | Data() as part:
            return (part,)
        case [Text() | File() | Data(), *_] as parts:
            return cast("Sequence[Part]", parts)
    return (_data(value, schema),)


def _last_message(value: object) -> object:
    """Return the message or text that stands for a list of messages or a prompt."""
    if isinstance(value, PromptValue):
        return value.to_string()
    messages = value.get("messages") if isinstance(value, Mapping) else value
    return messages[-1] if is_message_list(messages) else value


def _data(value: object, schema: Schema | None) -> Data:
    if isinstance(value, Document):
        return Data(_document(value))
    if isinstance(value, list) and value and all(isinstance(item, Document) for item in value):
        return Data([_document(document) for document in value])
    own = schema_of_value(value)
    return Data(value, schema=own or (schema if isinstance(value, Mapping) else None))


def _document(document: Document) -> dict[str, Any]:
    content: dict[str, Any] = {"page_content": document.page_content, "metadata": document.metadata}
    return {"id": document.id, **content} if document.id else content
