"""Inputs of runs: https://docs.ag-ui.com/sdk/python/core/types."""

from __future__ import annotations

import binascii
import hashlib
from typing import TYPE_CHECKING

from a2a_adapters_openai.errors import ApiError
from a2a_adapters_openai.messages import ASSISTANT, SYSTEM, USER, ChatMessage
from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    DataSource,
    DeveloperMessage,
    ReasoningMessage,
    RunAgentInput,
    SystemMessage,
    TextPart,
    ToolMessage,
    UrlSource,
    UserMessage,
)
from pydantic import ValidationError
from pydantic_core import to_json

from a2a_adapters import Data, File, Part, Text
from a2a_adapters.plugin import JSON, as_json
from a2a_adapters_ag_ui.front_end import METADATA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ag_ui.core import (
        AudioPart,
        ContentPart,
        Context,
        DocumentPart,
        ImagePart,
        Message,
        VideoPart,
    )

_A2UI = "A2UI "
"""The beginning of CopilotKit's descriptions of the interfaces that it can show."""

_VERSION = "v0.9.1"
"""The version of A2UI of the user's actions."""

PREFIX = "a2a-"
"""The beginning of the ids of messages from agents."""

_LONGEST_ID = 500
_PREVIOUS_LINE = "0."


class Asked:
    """The input of a run.

    Args:
        given: The JSON of the request.

    Raises:
        ApiError: It is not the input of a run; the error names the first invalid field.
    """

    def __init__(self, given: object) -> None:
        try:
            self.input = RunAgentInput.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))[:200]
            raise ApiError(400, f"{place}: {first['msg']}", param=place) from error
        for name in (self.input.thread_id, self.input.run_id):
            if not 0 < len(name) <= _LONGEST_ID:
                text = f"threadId and runId have between 1 and {_LONGEST_ID} characters"
                raise ApiError(400, text)

        self.key = self._key()
        """Identifies the run in its thread, and begins the ids of its messages.

        The run's id alone does not: CopilotKit answers an interrupt under the id of the run that
        asked.
        """

    def _key(self) -> str:
        run_id = self.input.run_id
        resume = [each.model_dump() for each in self.input.resume or ()]
        said = [m.id for m in self.input.messages if isinstance(m, UserMessage)]
        results = [
            message.tool_call_id
            for message in self.input.messages
            if isinstance(message, ToolMessage) and not message.id.startswith(PREFIX)
        ]
        identity = to_json([run_id, resume, said, results])
        return PREFIX + hashlib.sha256(identity).hexdigest()[:32]

    @property
    def is_current(self) -> bool:
        """Whether the client knows AG-UI 1.0, which added outcomes and fields of outcomes."""
        version = self.input.protocol_version
        return version is not None and not version.startswith(_PREVIOUS_LINE)

    @property
    def shows_interfaces(self) -> bool:
        """Whether the front end can show A2UI."""
        return any(entry.description.startswith(_A2UI) for entry in self.input.context or ())

    @property
    def tools(self) -> set[str]:
        """The names of the front end's tools."""
        return {tool.name for tool in self.input.tools or ()}

    def earlier(self, withdrawn: Sequence[str] = ()) -> list[Message]:
        """Return the messages from before the run that a snapshot repeats.

        Clients keep their own reasoning and activities only if a snapshot has none.

        Args:
            withdrawn: Texts of earlier answers that the run corrected; they are left out.
        """
        messages = (
            _without(message, withdrawn)
            for message in self.input.messages
            if not message.id.startswith(f"{self.key}:")
            and not isinstance(message, ReasoningMessage | ActivityMessage)
        )
        return [message for message in messages if message is not None]

    def history(self) -> list[ChatMessage]:
        """Return the texts of the conversation, with the files of the user.

        Raises:
            ApiError: A file cannot be used.
        """
        said = []
        for number, message in enumerate(self.input.messages):
            if isinstance(message, UserMessage):
                said.append(
                    ChatMessage(USER, _parts(message.content, f"messages.{number}.content"))
                )
            elif isinstance(message, AssistantMessage) and message.content:
                said.append(ChatMessage(ASSISTANT, [Text(message.content)]))
        return said

    def news(self) -> list[ChatMessage]:
        """Return the user's messages since the agent's last message, and their action.

        Raises:
            ApiError: A file cannot be used.
        """
        messages = self.input.messages
        known = (AssistantMessage, ToolMessage)
        since = max((n for n, each in enumerate(messages, 1) if isinstance(each, known)), default=0)
        said = [
            ChatMessage(USER, _parts(message.content, f"messages.{number}.content"))
            for number, message in enumerate(messages)
            if number >= since and isinstance(message, UserMessage)
        ]
        match self.input.forwarded_props:
            case {"a2uiAction": {"userAction": dict(action)}}:
                return [*said, ChatMessage(USER, [Data([{"version": _VERSION, "action": action}])])]
        return said

    def result(self, call_id: str) -> str | None:
        """Return the result of a call of the front end's tools, None if it has none."""
        for message in self.input.messages:
            if isinstance(message, ToolMessage) and message.tool_call_id == call_id:
                content = message.content
                if isinstance(content, str):
                    return message.error or content
                return "\n".join(part.text for part in content if isinstance(part, TextPart))
        return None

    def surroundings(self) -> list[ChatMessage]:
        """Return the system messages, and the front end's description of itself."""
        texts = [
            message.content
            for message in self.input.messages
            if isinstance(message, SystemMessage | DeveloperMessage)
        ]
        texts += [f"{entry.description}: {entry.value}" for entry in self._context()]
        return [ChatMessage(SYSTEM, [Text(text)]) for text in texts]

    def metadata(self) -> dict[str, JSON]:
        """Return the metadata of the message to the agent."""
        given = self.input
        values = {
            "threadId": given.thread_id,
            "runId": given.run_id,
            "parentRunId": given.parent_run_id,
            "state": given.state,
            "tools": [tool.model_dump(by_alias=True) for tool in given.tools or ()],
            "context": [entry.model_dump(by_alias=True) for entry in self._context()],
            "forwardedProps": given.forwarded_props,
        }
        shown = {name: value for name, value in values.items() if value not in (None, [], {})}
        return {METADATA: as_json(shown)}

    def _context(self) -> list[Context]:
        """Return the context without A2UI's schemas, which agents get in another way."""
        return [e for e in self.input.context or () if not e.description.startswith(_A2UI)]


def _without(message: Message, withdrawn: Sequence[str]) -> Message | None:
    """Return a message without withdrawn texts, None if nothing is left of it."""
    if not isinstance(message, AssistantMessage) or not message.id.startswith(PREFIX):
        return message
    lines = f"{message.content or ''}\n"
    for text in withdrawn:
        if lines.startswith(f"{text}\n"):
            rest = lines.removeprefix(f"{text}\n").strip("\n")
            return message.model_copy(update={"content": rest}) if rest else None
    return message


def _parts(content: str | Sequence[ContentPart], where: str) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)] if content else []
    return [
        Text(part.text) if isinstance(part, TextPart) else _media(part, f"{where}.{number}")
        for number, part in enumerate(content)
    ]


def _media(part: ImagePart | AudioPart | VideoPart | DocumentPart, where: str) -> Part:
    source, kind = part.source, part.source.mime_type or ""
    name = part.metadata.get("filename") if isinstance(part.metadata, dict) else None
    name = name if isinstance(name, str) else ""
    match source:
        case DataSource():
            try:
                content = binascii.a2b_base64(source.value, strict_mode=True)
            except ValueError as error:
                text = f"{where}: the data is not base64"
                raise ApiError(400, text, param=where) from error
            return File(content=content, media_type=kind, filename=name)
        case UrlSource():
            if not source.value:
                raise ApiError(400, f"{where}: the address is empty", param=where)
            return File(url=source.value, media_type=kind, filename=name)
        case _:  # the protocol wants it left out: only the provider that stores it can read it
            return Text("(A file that this agent cannot read.)")
