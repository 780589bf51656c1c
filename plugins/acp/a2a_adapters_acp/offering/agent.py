"""A remote A2A agent as an agent of an editor."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from acp import PROTOCOL_VERSION, RequestError
from acp.helpers import (
    embedded_blob_resource,
    resource_block,
    start_tool_call,
    text_block,
    tool_content,
    update_agent_message,
    update_agent_message_text,
    update_agent_thought_text,
    update_tool_call,
)
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    ClientCapabilities,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptCapabilities,
    PromptResponse,
    ToolCallUpdate,
    Usage,
)

from a2a_adapters import (
    AgentReply,
    Conversation,
    Data,
    File,
    Part,
    Progress,
    Question,
    RemoteAgent,
    RemoteAgentError,
    RemoteAuthError,
    RemoteTaskError,
    TextDelta,
    ToolCall,
    ToolResult,
    as_text,
)
from a2a_adapters_acp.offering.content import parts_of

if TYPE_CHECKING:
    from acp.interfaces import Client
    from acp.schema import PermissionOptionKind, ToolCallStatus

    from a2a_adapters import RemoteEvent
    from a2a_adapters_acp.serving.content import Block

_OPTIONS = {
    "allow_once": "Allow",
    "allow_always": "Always allow",
    "reject_once": "Reject",
    "reject_always": "Always reject",
}


@dataclass(slots=True)
class _Session:
    conversation: Conversation
    turn: asyncio.Task[PromptResponse] | None = None


class EditorAgent:
    """Answers an editor's prompts with a remote agent, a conversation for each session.

    Args:
        agent: The remote agent.
    """

    def __init__(self, agent: RemoteAgent) -> None:
        self._agent = agent
        self._sessions: dict[str, _Session] = {}
        self._client: Client | None = None
        self._reads_files = False

    def on_connect(self, conn: Client) -> None:
        """Take the connection to the editor."""
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,  # noqa: ARG002 - there is one
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,  # noqa: ARG002
        **_: Any,
    ) -> InitializeResponse:
        """Describe the agent by its card."""
        try:
            about = await self._agent.describe()
        except RemoteAgentError as error:
            raise _refusal(error) from error
        files = client_capabilities.fs if client_capabilities else None
        self._reads_files = bool(files and files.read_text_file)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                prompt_capabilities=PromptCapabilities(
                    image=True, audio=True, embedded_context=True
                )
            ),
            auth_methods=[],
            agent_info=Implementation(
                name="a2a-adapters", title=about.name, version=version("a2a-adapters")
            ),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:  # noqa: ARG002
        """Begin a conversation."""
        session_id = uuid4().hex
        self._sessions[session_id] = _Session(self._agent.conversation(session_id))
        return NewSessionResponse(session_id=session_id)

    async def prompt(self, session_id: str, prompt: list[Block], **_: Any) -> PromptResponse:
        """Send a message and report the answer as it comes."""
        session = self._session(session_id)
        if session.turn is not None:
            raise RequestError.invalid_request({"details": "the session is answering a prompt"})
        session.turn = asyncio.ensure_future(self._answer(session_id, session, prompt))
        try:
            return await session.turn
        except asyncio.CancelledError:
            if not session.turn.cancelled():  # this request itself was cancelled
                session.turn.cancel()
                raise
            return PromptResponse(stop_reason="cancelled")
        except RemoteTaskError as error:
            await self._update(session_id, update_agent_message_text(str(error)))
            is_rejected = error.state == "rejected"
            return PromptResponse(stop_reason="refusal" if is_rejected else "end_turn")
        except RemoteAgentError as error:
            raise _refusal(error) from error
        finally:
            session.turn = None

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Cancel the remote task."""
        session = self._sessions.get(session_id)
        if session is not None and session.turn is not None:
            session.turn.cancel()

    async def _answer(
        self, session_id: str, session: _Session, prompt: list[Block]
    ) -> PromptResponse:
        async def read(path: str) -> str:
            assert self._client is not None  # noqa: S101 - it has sent this prompt
            response = await self._client.read_text_file(path=path, session_id=session_id)
            return response.content

        message: Sequence[Part] = await parts_of(prompt, read if self._reads_files else None)
        while True:
            reply = await self._exchange(session_id, session.conversation, message)
            if not reply.is_question:
                return PromptResponse(stop_reason="end_turn", usage=_usage(reply))
            if (options := _permission(reply)) is None:
                await self._update(session_id, update_agent_message_text(reply.question))
                return PromptResponse(stop_reason="end_turn", usage=_usage(reply))
            message = [await self._ask(session_id, reply, options)]

    async def _exchange(
        self, session_id: str, conversation: Conversation, message: Sequence[Part]
    ) -> AgentReply:
        """Send a message, report what comes, and return the whole answer."""
        reply, has_text = None, False
        async with aclosing(conversation.stream(message)) as events:
            async for event in events:
                if isinstance(event, AgentReply):
                    reply = event
                elif not isinstance(event, Question):
                    has_text = has_text or isinstance(event, TextDelta)
                    await self._report(session_id, event)
        assert reply is not None  # noqa: S101 - a stream without one raises
        if reply.text and not has_text and not reply.is_question:
            await self._update(session_id, update_agent_message_text(reply.text))
        for part in reply.parts:
            match part:
                case File(content=bytes(content)):
                    resource = embedded_blob_resource(
                        f"attachment:///{part.filename or 'file'}",
                        base64.b64encode(content).decode(),
                        mime_type=part.guess_media_type(),
                    )
                    await self._update(session_id, update_agent_message(resource_block(resource)))
                case Data() | File() if not reply.is_question:
                    await self._update(session_id, update_agent_message_text(as_text([part])))
        return reply

    async def _report(self, session_id: str, event: RemoteEvent) -> None:
        match event:
            case TextDelta(text=text):
                await self._update(session_id, update_agent_message_text(text))
            case Progress(text=text) if text:
                await self._update(session_id, update_agent_thought_text(text))
            case ToolCall():
                started = start_tool_call(
                    event.id, event.name, status="in_progress", raw_input=event.arguments
                )
                await self._update(session_id, started)
            case ToolResult():
                status: ToolCallStatus = "failed" if event.is_error else "completed"
                text = (
                    event.result if isinstance(event.result, str) else as_text([Data(event.result)])
                )
                content = [tool_content(text_block(text))] if event.result is not None else None
                ended = update_tool_call(event.id, status=status, content=content)
                await self._update(session_id, ended)

    async def _ask(
        self, session_id: str, reply: AgentReply, options: Sequence[PermissionOption]
    ) -> Data:
        """Put a remote agent's request for permission to the editor's user."""
        assert self._client is not None  # noqa: S101 - it has sent a prompt
        call = ToolCallUpdate(
            tool_call_id=f"permission-{uuid4().hex}",
            title=reply.question,
            kind="other",
            status="pending",
        )
        response = await self._client.request_permission(
            session_id=session_id, tool_call=call, options=list(options)
        )
        if not isinstance(response.outcome, AllowedOutcome):
            raise asyncio.CancelledError
        return Data({"option": response.outcome.option_id})

    async def _update(self, session_id: str, update: Any) -> None:
        assert self._client is not None  # noqa: S101 - it has sent a prompt
        await self._client.session_update(session_id=session_id, update=update)

    def _session(self, session_id: str) -> _Session:
        if (session := self._sessions.get(session_id)) is None:
            raise RequestError.invalid_params({"details": "there is no such session"})
        return session


def _permission(reply: AgentReply) -> list[PermissionOption] | None:
    """Return the options of a question about a permission; None for other questions."""
    for part in reply.status_parts:
        if isinstance(part, Data) and isinstance(part.value, Mapping):
            match part.value.get("permission"):
                case {"options": [*options]}:
                    return [found for each in options if (found := _option(each))] or None
    return None


def _option(value: object) -> PermissionOption | None:
    match value:
        case {"id": str(option_id), "kind": str(kind)} if kind in _OPTIONS:
            return PermissionOption(
                option_id=option_id, kind=cast("PermissionOptionKind", kind), name=_OPTIONS[kind]
            )
    return None


def _usage(reply: AgentReply) -> Usage | None:
    if (used := reply.usage) is None:
        return None
    return Usage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        total_tokens=used.total_tokens,
    )


def _refusal(error: RemoteAgentError) -> RequestError:
    """Return an error for the editor; its user named the agent, and may read the text."""
    if isinstance(error, RemoteAuthError):
        return RequestError(-32000, f"{error}; give credentials with --header")
    return RequestError(-32603, str(error))
