"""Converts a remote agent's events to updates for an editor."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote as url_quoted
from uuid import uuid4

from acp.helpers import (
    embedded_blob_resource,
    resource_block,
    resource_link_block,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
    update_user_message_text,
)
from acp.schema import AllowedOutcome, PermissionOption, ToolCallUpdate

from a2a_adapters import (
    AgentReply,
    Data,
    File,
    Part,
    Progress,
    RemoteEvent,
    TextDelta,
    ToolCall,
    ToolResult,
)
from a2a_adapters.dialects import correction, is_corrected, quote
from a2a_adapters.plugin import as_text

if TYPE_CHECKING:
    from acp.interfaces import Client
    from acp.schema import PermissionOptionKind, ToolCallStatus

_OPTIONS = {
    "allow_once": "Allow",
    "allow_always": "Always allow",
    "reject_once": "Reject",
    "reject_always": "Always reject",
}
_MOST_OPTIONS = 10
_PIECE = 64 * 1024
_TITLE = 200
_DETAILS = 16_000
_FILE_BYTES = 8 * 1024 * 1024
_CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {ord("\n"), ord("\t")})


class Reports:
    """Shows a remote agent's output in an editor's session.

    The agent is not trusted: control characters are removed, because editors may run in a terminal,
    and each update is bounded.

    Args:
        client: The editor.
        session_id: The session.

    Attributes:
        said: The answer's text so far, as it was corrected.
    """

    def __init__(self, client: Client, session_id: str) -> None:
        self._client = client
        self._session_id = session_id
        self.said = ""

    async def say(self, text: str) -> None:
        """Show a piece of the answer."""
        text = text.translate(_CONTROLS)
        self.said += text
        for start in range(0, len(text), _PIECE):
            await self._update(update_agent_message_text(text[start : start + _PIECE]))

    async def correct(self, start: int, text: str) -> None:
        """Repeat an answer if it was corrected: editors cannot take back text.

        Args:
            start: The number of characters said before the answer.
            text: The text of the answer.
        """
        before, said = self.said[:start], self.said[start:]
        text = text.translate(_CONTROLS)
        if is_corrected(said, text):
            await self.say(correction(said, text))
            self.said = before + text

    async def replay(self, messages: Sequence[tuple[str, str]]) -> None:
        """Show the messages of an earlier conversation."""
        for role, text in messages:
            show = update_user_message_text if role == "user" else update_agent_message_text
            for start in range(0, len(text), _PIECE):
                await self._update(show(text[start : start + _PIECE]))

    async def report(self, event: RemoteEvent) -> None:
        """Show text, progress or a tool call."""
        match event:
            case TextDelta(text=text):
                await self.say(text)
            case Progress(text=text) if text:
                await self._update(update_agent_thought_text(_printable(text)))
            case ToolCall():
                given = event.arguments if len(str(event.arguments)) <= _DETAILS else None
                title = quote(event.name, _TITLE)
                await self._update(
                    start_tool_call(
                        quote(event.id, _TITLE), title, status="in_progress", raw_input=given
                    )
                )
            case ToolResult(result=result):
                status: ToolCallStatus = "failed" if event.is_error else "completed"
                text = result if isinstance(result, str) else as_text([Data(result)])
                content = [tool_content(text_block(_printable(text)))] if text else None
                await self._update(
                    update_tool_call(quote(event.id, _TITLE), status=status, content=content)
                )

    async def show(self, parts: Sequence[Part]) -> None:
        """Show an answer's data, and its files as resources."""
        for part in parts:
            match part:
                case File(content=bytes(content)) if len(content) <= _FILE_BYTES:
                    resource = embedded_blob_resource(
                        f"attachment:///{url_quoted(_name(part))}",
                        base64.b64encode(content).decode(),
                        mime_type=part.guess_media_type(),
                    )
                    await self._update(update_agent_message(resource_block(resource)))
                case File(content=bytes(content)):
                    await self.say(f"\n(The file {_name(part)} is too large: {len(content)} bytes)")
                case File(url=str(url)) if url.startswith(("https://", "http://")):
                    link = resource_link_block(_name(part), url)
                    await self._update(update_agent_message(link))
                case Data():
                    await self.say(as_text([part]))

    async def ask(self, name: str, reply: AgentReply) -> Data | None:
        """Ask the editor's user for the permission that a remote agent requests.

        Args:
            name: The agent's name.
            reply: The request (see `is_permission`).

        Returns:
            The answer; None if the user cancels.
        """
        first, _, _ = reply.question.partition("\n")
        call = ToolCallUpdate(
            tool_call_id=f"permission-{uuid4().hex}",
            title=quote(f"{name}: {first}", _TITLE),
            kind="other",
            status="pending",
            content=[tool_content(text_block(_printable(reply.question)))],
        )
        response = await self._client.request_permission(
            session_id=self._session_id, tool_call=call, options=_options(reply)
        )
        if not isinstance(response.outcome, AllowedOutcome):
            return None
        return Data({"option": response.outcome.option_id})

    async def _update(self, update: Any) -> None:
        await self._client.session_update(session_id=self._session_id, update=update)


def is_permission(reply: AgentReply) -> bool:
    """Whether a question asks for permission and offers options."""
    return bool(_options(reply))


def _options(reply: AgentReply) -> list[PermissionOption]:
    for part in reply.status_parts:
        if isinstance(part, Data) and isinstance(part.value, Mapping):
            match part.value.get("permission"):
                case {"options": [*options]}:
                    return [each for o in options[:_MOST_OPTIONS] if (each := _option(o))]
    return []


def _option(value: object) -> PermissionOption | None:
    """Return an option with our own label, because an agent's label may be misleading."""
    match value:
        case {"id": str(option_id), "kind": str(kind)} if kind in _OPTIONS:
            return PermissionOption(
                option_id=option_id, kind=cast("PermissionOptionKind", kind), name=_OPTIONS[kind]
            )
    return None


def _name(file: File) -> str:
    """Return the last part of a file's path."""
    return quote(file.filename.replace("\\", "/").rpartition("/")[2], _TITLE) or "file"


def _printable(text: str) -> str:
    return text[:_DETAILS].translate(_CONTROLS)
