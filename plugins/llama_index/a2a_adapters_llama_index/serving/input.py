"""Converts a request to the event that starts a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from a2a_adapters import AgentRequest, File, InvalidInputError, Text
from a2a_adapters.plugin import NamedInputs, as_text
from a2a_adapters_llama_index.serving.targets import is_agent

if TYPE_CHECKING:
    from workflows import Workflow
    from workflows.events import StartEvent


_TEXT = "user_msg"
"""The field for text of start events without fields, as LlamaIndex's agents and servers name it."""


def start_event(workflow: Workflow, request: AgentRequest) -> StartEvent:
    """Return the event for a message.

    Raises:
        InvalidInputError: The message does not fit the workflow's input.
    """
    if is_agent(workflow):
        kind: Any = workflow.start_event_class
        return cast("StartEvent", kind(user_msg=_chat_message(request)))
    if request.files:
        raise InvalidInputError("this workflow takes no files")
    return _filled(workflow.start_event_class, request)


def _filled(kind: type[StartEvent], request: AgentRequest) -> StartEvent:
    names = list(kind.model_fields)
    inputs = NamedInputs(
        names=names,
        required=[name for name in names if kind.model_fields[name].is_required()],
        text_name=None if names else _TEXT,
        is_open=not names,
        reserved=kind.__private_attributes__,
    )
    texts = [part for part in request.parts if isinstance(part, Text)]
    values = inputs.read(request.parts, as_text(texts))
    inputs.check_complete(values)
    try:
        return kind(**values)
    except ValidationError as error:
        raise InvalidInputError.of(error) from error


def _chat_message(request: AgentRequest) -> Any:
    from llama_index.core.llms import ChatMessage, TextBlock  # noqa: PLC0415 - only agents need it

    rest = [part for part in request.parts if not isinstance(part, File)]
    texts = [TextBlock(text=as_text(rest))] if rest else []
    return ChatMessage(role="user", blocks=[*texts, *map(_block, request.files)])


def _block(file: File) -> Any:
    from llama_index.core.llms import (  # noqa: PLC0415 - only agents need it
        AudioBlock,
        DocumentBlock,
        ImageBlock,
    )

    media_type = file.guess_media_type()
    kind, _, form = media_type.partition("/")
    if kind == "image":
        return ImageBlock(image=file.received(), image_mimetype=media_type)
    if kind == "audio":
        return AudioBlock(audio=file.received(), format=form)
    return DocumentBlock(
        data=file.received(), title=file.filename or None, document_mimetype=media_type or None
    )
