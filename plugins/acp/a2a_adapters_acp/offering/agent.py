"""A remote A2A agent, offered to an editor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from acp import PROTOCOL_VERSION, RequestError
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    Usage,
)

from a2a_adapters import (
    AgentReply,
    Conversation,
    Data,
    File,
    Part,
    Question,
    RemoteAgent,
    RemoteAgentError,
    RemoteAuthError,
    RemoteTaskError,
)
from a2a_adapters.dialects import artifact_text, quote
from a2a_adapters.plugin import as_text
from a2a_adapters_acp.offering.content import parts_of
from a2a_adapters_acp.offering.reports import Reports, is_permission
from a2a_adapters_acp.offering.sessions import SessionFiles, Transcript

if TYPE_CHECKING:
    from acp.interfaces import Client

    from a2a_adapters_acp.serving.content import Block

_MOST_PERMISSIONS = 100
_ERROR = 1_000


@dataclass(slots=True)
class _Session:
    conversation: Conversation
    transcript: Transcript
    turn: asyncio.Task[PromptResponse] | None = None


class EditorAgent:
    """Answers an editor's prompts with a remote agent. Each session is a conversation.

    Args:
        agent: The remote agent.
        files: Stores the sessions.
    """

    def __init__(self, agent: RemoteAgent, files: SessionFiles) -> None:
        self._agent = agent
        self._files = files
        self._name = ""
        self._sessions: dict[str, _Session] = {}
        self._client: Client | None = None
        self._reads_files = False

    def on_connect(self, conn: Client) -> None:
        """Store the connection to the editor."""
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
        self._name = quote(about.name, 100)
        files = client_capabilities.fs if client_capabilities else None
        self._reads_files = bool(files and files.read_text_file)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(
                    image=True, audio=True, embedded_context=True
                ),
            ),
            auth_methods=[],
            agent_info=Implementation(
                name="a2a-adapters", title=self._name, version=version("a2a-adapters")
            ),
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:  # noqa: ARG002
        """Start a conversation."""
        session_id = uuid4().hex
        self._sessions[session_id] = _Session(self._agent.conversation(session_id), Transcript())
        return NewSessionResponse(session_id=session_id)

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:  # noqa: ARG002
        """Continue a conversation from an earlier process and replay its messages."""
        if (transcript := self._files.read(session_id)) is None:
            raise RequestError.resource_not_found(session_id)
        conversation = self._agent.conversation(session_id, context_id=transcript.context_id)
        self._sessions[session_id] = _Session(conversation, transcript)
        await self._reports(session_id).replay(transcript.messages)
        return LoadSessionResponse()

    async def prompt(self, session_id: str, prompt: list[Block], **_: Any) -> PromptResponse:
        """Send a message and report the answer as it arrives."""
        if (session := self._sessions.get(session_id)) is None:
            raise RequestError.invalid_params({"details": "there is no such session"})
        if session.turn is not None:
            raise RequestError.invalid_request({"details": "the session is answering a prompt"})
        reports = self._reports(session_id)
        session.turn = asyncio.ensure_future(self._answer(session_id, session, prompt, reports))
        try:
            return await session.turn
        except asyncio.CancelledError:
            if not session.turn.cancelled():  # this request itself was cancelled
                session.turn.cancel()
                raise
            return PromptResponse(stop_reason="cancelled")
        except RemoteTaskError as error:
            await reports.say(str(error))
            is_rejected = error.state == "rejected"
            return PromptResponse(stop_reason="refusal" if is_rejected else "end_turn")
        except RemoteAgentError as error:
            raise _refusal(error) from error
        finally:
            session.turn = None
            session.transcript.add("agent", reports.said)
            session.transcript.context_id = session.conversation.context_id
            self._files.write(session_id, session.transcript)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Cancel the remote task."""
        session = self._sessions.get(session_id)
        if session is not None and session.turn is not None:
            session.turn.cancel()

    async def _answer(
        self, session_id: str, session: _Session, prompt: list[Block], reports: Reports
    ) -> PromptResponse:
        async def read(path: str) -> str:
            assert self._client is not None  # noqa: S101 - it has sent this prompt
            response = await self._client.read_text_file(path=path, session_id=session_id)
            return response.content

        message: Sequence[Part] = await parts_of(prompt, read if self._reads_files else None)
        session.transcript.add("user", as_text(message))
        for _ in range(_MOST_PERMISSIONS):
            reply = await _exchange(session.conversation, message, reports)
            if not is_permission(reply):
                return PromptResponse(stop_reason="end_turn", usage=_usage(reply))
            if (answer := await reports.ask(self._name, reply)) is None:
                raise asyncio.CancelledError
            message = [answer]
        await reports.say("The agent asks for permission too often.")
        return PromptResponse(stop_reason="max_turn_requests")

    def _reports(self, session_id: str) -> Reports:
        assert self._client is not None  # noqa: S101 - it has sent a request
        return Reports(self._client, session_id)


async def _exchange(
    conversation: Conversation, message: Sequence[Part], reports: Reports
) -> AgentReply:
    """Send a message, report the events as they arrive, and return the whole answer.

    Raises:
        RemoteAgentError: The call failed.
    """
    reply: AgentReply | None = None
    question: Question | None = None
    start = len(reports.said)
    try:
        async with aclosing(conversation.stream(message)) as events:
            async for event in events:
                match event:
                    case AgentReply():
                        reply = event
                    case Question():
                        question = event
                    case _:
                        await reports.report(event)
    except RemoteTaskError as error:
        await reports.correct(start, artifact_text(error.reply.artifacts))
        raise
    assert reply is not None  # noqa: S101 - a stream without one raises
    await reports.correct(
        start, artifact_text(reply.artifacts) if reply.is_question else reply.text
    )
    if question is not None and not is_permission(reply):
        await reports.report(question)
    is_shown = File if reply.is_question else (File, Data)
    await reports.show([part for part in reply.parts if isinstance(part, is_shown)])
    return reply


def _usage(reply: AgentReply) -> Usage | None:
    if (used := reply.usage) is None:
        return None
    return Usage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        total_tokens=used.total_tokens,
    )


def _refusal(error: RemoteAgentError) -> RequestError:
    """Return an error with the agent's own text, since the editor's user chose the agent."""
    text = quote(str(error), _ERROR)
    if isinstance(error, RemoteAuthError):
        return RequestError(-32000, f"{text}; give credentials with --header")
    return RequestError(-32603, text)
