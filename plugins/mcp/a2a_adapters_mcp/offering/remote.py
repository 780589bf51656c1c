"""Serves a remote agent by forwarding its calls."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from a2a_adapters import (
    AgentEvent,
    AgentReply,
    AgentRequest,
    AuthRequired,
    InputRequired,
    Question,
    Rejected,
    RemoteAgent,
    RemoteAgentError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteRefusedError,
    RemoteTaskError,
    RemoteTimeoutError,
    TaskMetadata,
    Text,
)
from a2a_adapters.dialects import LaterText, answer_of, passed_on
from a2a_adapters.plugin import Adapter, AgentDescription

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

_TASK, _CONTEXT = "remote_task_id", "remote_context_id"


def opener(agent: RemoteAgent) -> Callable[[], Awaitable[Adapter]]:
    """Return a factory that reads the card in the server's event loop and creates the adapter."""

    async def open_agent() -> Adapter:
        return RemoteAdapter(agent, await agent.describe())

    return open_agent


class RemoteAdapter(Adapter):
    """Forwards messages to a remote agent, with a separate conversation per caller and context.

    Args:
        agent: The agent.
        about: Its description from the card, shortened.
    """

    def __init__(self, agent: RemoteAgent, about: AgentDescription) -> None:
        self._agent = agent
        self._about = about

    def describe(self) -> AgentDescription:
        """Return the description from the agent's card."""
        return self._about

    async def stream(
        self, request: AgentRequest
    ) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Send the message and yield the answer; closing cancels the remote task."""
        known = request.resume_metadata
        conversation = self._agent.conversation(
            f"{len(request.owner)} {request.owner} {request.context_id}",
            context_id=str(known.get(_CONTEXT, "")),
        )
        events = conversation.stream(
            request.parts, task_id=str(known.get(_TASK, "")), metadata=request.metadata
        )
        try:
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, AgentReply):
                        for each in _ending(event):
                            yield each
                    elif not isinstance(event, Question | LaterText):
                        yield event
        except RemoteAgentError as error:
            yield Rejected(_reason(error))

    async def abandon(self, request: AgentRequest) -> None:
        """Cancel the remote task of an abandoned question."""
        await self._agent.cancel(str(request.resume_metadata[_TASK]))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._agent.aclose()


def _ending(reply: AgentReply) -> Iterator[AgentEvent]:
    """Yield an answer, whose text was streamed, with its other parts in their places."""
    yield from passed_on(answer_of(reply))
    if reply.metadata:
        reply.counted_usage(__name__)  # it becomes the task's own
        yield TaskMetadata(reply.metadata)
    if reply.is_question:
        kind = AuthRequired if reply.state == "auth-required" else InputRequired
        known = {_TASK: reply.task_id, _CONTEXT: reply.context_id}
        asked = [part for part in reply.status_parts if not isinstance(part, Text)]
        yield kind(reply.question, asked, metadata=known, durable=True)


def _reason(error: RemoteAgentError) -> str:
    """Return an error text without addresses and credentials."""
    match error:
        case RemoteTaskError() | RemoteRefusedError():
            return str(error)
        case RemoteTimeoutError():
            return "The agent did not answer in time."
        case RemoteAuthError():
            return "The agent requires other credentials."
        case RemoteConnectionError():
            return "The agent cannot be reached."
        case _:
            return "The agent's answer is invalid."
