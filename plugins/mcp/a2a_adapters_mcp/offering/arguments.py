"""Arguments of the tools that represent agents."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import TYPE_CHECKING, Any

from a2a.types import SendMessageRequest
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from a2a_adapters import Data, File, InvalidInputError, Part, Text
from a2a_adapters.dialects import user_message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_adapters.plugin import AgentDescription

_TEXT_TYPE = "text/plain"
_JSON_TYPE = "application/json"


_MESSAGE = {"type": "string", "description": "Message to the agent."}
_DATA = {"description": "Structured data for the agent: any JSON value."}
_FILES = {
    "type": "array",
    "description": "Files for the agent.",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "media_type": {"type": "string"},
            "base64": {"type": "string", "description": "The content, encoded as base64."},
        },
        "required": ["base64"],
    },
}
_IDS = {
    "context_id": {
        "type": "string",
        "description": "The conversation to continue. Default: that of this session.",
    },
    "task_id": {"type": "string", "description": "The task whose question to answer."},
}


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FileArgument(_Arguments):
    """A file for an agent; `base64` is its content."""

    name: str = ""
    media_type: str = "application/octet-stream"
    base64: str

    def to_part(self) -> File:
        """Convert it to a message part.

        Raises:
            InvalidInputError: The content is not base64.
        """
        try:
            content = b64decode(self.base64, validate=True)
        except binascii.Error as error:
            raise InvalidInputError(f"the file {self.name:.80} is not base64") from error
        return File(content=content, media_type=self.media_type, filename=self.name)


class ToolArguments(_Arguments):
    """The arguments of a call, as described by `input_schema`."""

    message: str = ""
    data: JsonValue = None
    files: list[FileArgument] = []
    context_id: str = ""
    task_id: str = ""

    @classmethod
    def read(cls, arguments: Mapping[str, Any]) -> ToolArguments:
        """Validate the arguments of a call.

        Raises:
            InvalidInputError: They do not match the schema.
        """
        try:
            found = cls.model_validate(arguments)
        except ValidationError as error:
            wrong = str(InvalidInputError.of(error))
            raise InvalidInputError(f"invalid arguments: {wrong:.1000}") from error
        if not (found.message or found.files or found.data is not None):
            raise InvalidInputError("pass at least one of message, data and files")
        return found

    @property
    def parts(self) -> Sequence[Part]:
        """The message parts for the agent."""
        text = [Text(self.message)] if self.message else []
        data = [Data(self.data)] if self.data is not None else []
        return [*text, *data, *(file.to_part() for file in self.files)]


def input_schema(about: AgentDescription, skill_id: str | None = None) -> dict[str, Any]:
    """Return the JSON schema of the arguments for an agent or one of its skills.

    The schema of `data` is that of the given skill, or of the agent's only skill.
    """
    skills = [skill for skill in about.skills if skill_id in (None, skill.id)]
    data = dict(skills[0].input_schema or {}) if len(skills) == 1 else {}
    definitions = data.pop("$defs", None)  # references are relative to the root schema
    modes = set(about.input_modes)
    takes_data = bool(modes & {_JSON_TYPE, "*/*"})
    takes_files = not modes <= {_TEXT_TYPE, _JSON_TYPE}
    properties: dict[str, Any] = {"message": _MESSAGE}
    if takes_data:
        properties["data"] = data or _DATA
    if takes_files:
        properties["files"] = _FILES
    return {
        "type": "object",
        "properties": properties | _IDS,
        "required": [] if takes_data or takes_files else ["message"],
        "additionalProperties": False,
        **({"$defs": definitions} if definitions else {}),
    }


def to_request(
    parts: Sequence[Part], context_id: str, task_id: str, metadata: Mapping[str, str]
) -> SendMessageRequest:
    """Return an A2A request.

    Raises:
        InvalidInputError: The parts cannot be represented in the protocol.
    """
    try:
        message = user_message(parts, context_id, task_id, metadata)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError("the arguments cannot be sent to the agent") from error
    return SendMessageRequest(message=message)
