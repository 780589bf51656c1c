"""Converts requests to the messages of a task."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from autogen_agentchat.messages import (
    BaseChatMessage,
    HandoffMessage,
    MultiModalMessage,
    StructuredMessage,
    TextMessage,
)
from autogen_core import Image
from PIL import Image as Picture
from pydantic import BaseModel, ValidationError

from a2a_adapters import AgentRequest, Data, File, InvalidInputError, Part
from a2a_adapters.plugin import as_text
from a2a_adapters_autogen.serving.runners import Runner, accepts_images

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters_autogen.serving.memory import Question

USER = "user"
"""The source of the caller's messages."""

_MAX_PIXELS = 50_000_000


def read_task(request: AgentRequest, input_type: type[BaseModel] | None) -> list[BaseChatMessage]:
    """Convert a request to messages.

    Args:
        request: The request.
        input_type: The type of data parts, which become a `StructuredMessage`. Without it they
            become JSON text.

    Raises:
        InvalidInputError: The message is empty, or has a part that no agent accepts.
    """
    messages: list[BaseChatMessage] = []
    said: list[str | Image] = []
    for part in request.parts:
        if isinstance(part, Data) and input_type:
            messages += _spoken(said)
            messages.append(_structured(part, input_type))
            said = []
        else:
            said.append(_image(part) if isinstance(part, File) else as_text([part]))
    messages += _spoken(said)
    if not messages:
        raise InvalidInputError("the message is empty")
    return messages


def check_images(messages: Sequence[BaseChatMessage], runner: Runner) -> None:
    """Refuse images if no model of a runner accepts them.

    Raises:
        InvalidInputError: A message has an image.
    """
    has_images = any(isinstance(message, MultiModalMessage) for message in messages)
    if has_images and not accepts_images(runner):
        raise InvalidInputError("this agent's model cannot see images; please send text")


def hand_back(messages: Sequence[BaseChatMessage], question: Question) -> Sequence[BaseChatMessage]:
    """Return the answer to a handoff for a `Swarm`: handed back to the asking agent."""
    *others, last = messages
    is_text = isinstance(last, TextMessage)
    content = last.to_text() if is_text else ""
    back = HandoffMessage(source=question.addressee, target=question.asker, content=content)
    return [*(others if is_text else messages), back]


def answer_text(parts: Sequence[Part]) -> str:
    """Return text and data as text, one per line.

    Raises:
        InvalidInputError: The parts are empty, or have a file.
    """
    if any(isinstance(part, File) for part in parts):
        raise InvalidInputError("please answer with text, without files")
    text = as_text(parts)
    if not text.strip():
        raise InvalidInputError("please answer with text")
    return text


def _spoken(said: list[str | Image]) -> list[BaseChatMessage]:
    if any(isinstance(item, Image) for item in said):
        return [MultiModalMessage(content=said, source=USER)]
    text = "\n".join(item for item in said if isinstance(item, str))
    return [TextMessage(content=text, source=USER)] if text.strip() else []


def _structured(part: Data, kind: type[BaseModel]) -> BaseChatMessage:
    try:
        content = kind.model_validate(part.value)
    except ValidationError as error:
        raise InvalidInputError.of(error) from error
    return StructuredMessage[kind](content=content, source=USER)  # type: ignore[valid-type]


def _image(file: File) -> Image:
    if file.media_type and not file.media_type.startswith("image/"):
        raise InvalidInputError(f"this agent takes text, data and images, not {file.media_type}")
    content = file.received()
    try:
        picture = Picture.open(BytesIO(content))
        if picture.width * picture.height <= _MAX_PIXELS:
            return Image(picture)
    except Exception as error:  # decoders raise anything
        raise InvalidInputError("the image cannot be read") from error
    raise InvalidInputError("the image is too large")
