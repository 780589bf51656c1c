"""An AG-UI endpoint as an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_adapters_endpoints.http import Endpoint, checked_url
from a2a_adapters_endpoints.words import WordParser, token_of

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    AuthRequired,
    Data,
    InputRequired,
    InvalidInputError,
    Rejected,
)
from a2a_adapters.dialects import event_data
from a2a_adapters.plugin import Adapter, AgentDescription, as_json, check_arguments
from a2a_adapters_ag_ui.calling.conversation import Conversation, answer_to
from a2a_adapters_ag_ui.calling.received import ReceivedRun

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from a2a_adapters.plugin import JSON, StateStorage

__all__ = ["AgUiAgent"]

_EXAMPLE = "ag-ui:https://agents.example.com/agent"
_ACCEPTED = {"Accept": "text/event-stream"}
_AUTH_REASON = "a2a:auth_required"


class AgUiAgent(Adapter):
    """Sends messages to an AG-UI endpoint: `serve(AgUiAgent("https://agents.example.com/agent"))`.

    Each conversation of each caller is a separate thread. Its messages and state are stored here,
    as AG-UI requires of a client, and the endpoint's interrupts become questions.

    Args:
        url: The endpoint's URL, trusted as typed. Redirects are not followed.
        token: A bearer token for it.
        seconds: Maximum time between two events.
        answer_bytes: Maximum size of an answer on the wire.
        name: The agent's name.
        description: The agent's description.

    Raises:
        ConfigurationError: The URL is invalid.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        seconds: float = 300,
        answer_bytes: int = 64 * 1024 * 1024,
        name: str = "ag-ui",
        description: str = "An agent behind an AG-UI endpoint.",
    ) -> None:
        check_arguments(AgUiAgent, locals(), {"seconds", "answer_bytes"})
        self._endpoint = Endpoint(checked_url(url, _EXAMPLE), token, seconds, answer_bytes)
        self._about = AgentDescription(name=name, description=description, input_modes=["*/*"])
        self._storage: StateStorage | None = None

    @classmethod
    def of_word(cls, word: str) -> AgUiAgent:
        """Return the agent for the words after `ag-ui:`.

        Raises:
            ConfigurationError: It cannot be understood.
        """
        parser = WordParser("ag-ui")
        parser.add_argument("--token-env", metavar="NAME", help="the variable with the token")
        parser.add_argument("--seconds", type=float, default=300, help="how long it may be silent")
        parser.add_argument("url")
        said = parser.read(word)
        return cls(said.url, token=token_of(said.token_env), seconds=said.seconds)

    def describe(self) -> AgentDescription:
        """Describe the endpoint."""
        return self._about

    async def open(self, storage: StateStorage) -> None:
        """Store the conversations there."""
        self._storage = storage

    async def stream(
        self, request: AgentRequest
    ) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Run the agent with a message, or with the answer to its question.

        Raises:
            InvalidInputError: The message is empty.
            AgentFailedError: The endpoint cannot be reached, or its run failed.
        """
        if not request.parts:
            raise InvalidInputError("the message is empty")
        conversation = await Conversation.read(self._storage, request)
        resume: list[dict[str, JSON]] = []
        if interrupts := _stored(request, "interrupts"):
            resume = [*_stored(request, "answers"), _entry(interrupts[0], request)]
            if len(interrupts) > 1:
                yield _question(interrupts[1:], resume)
                return
        else:
            conversation.say(request.parts)
        run = ReceivedRun(conversation)
        try:
            async for event in self._events(conversation, request, resume, run):
                yield event
                if isinstance(event, Rejected):
                    return
        finally:
            await conversation.write(self._storage, request)
        if run.interrupts:
            yield _question(run.interrupts, [])

    async def abandon(self, request: AgentRequest) -> None:
        """Cancel the interrupts of the question, so that the thread can continue."""
        conversation = await Conversation.read(self._storage, request)
        interrupts = _stored(request, "interrupts")
        cancelled = [{"interruptId": each["id"], "status": "cancelled"} for each in interrupts]
        resume = [*_stored(request, "answers"), *cancelled]
        run = ReceivedRun(conversation)
        async for _ in self._events(conversation, request, resume, run):
            pass
        await conversation.write(self._storage, request)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def _events(
        self,
        conversation: Conversation,
        request: AgentRequest,
        resume: Sequence[Mapping[str, JSON]],
        run: ReceivedRun,
    ) -> AsyncGenerator[AgentEvent]:
        body = conversation.input(request.conversation_key(self._about.name), resume)
        async with self._endpoint.post(body, _ACCEPTED) as response:
            async for data in event_data(self._endpoint.chunks(response)):
                for event in run.add(data):
                    yield event
        for event in run.finish():
            yield event


def _stored(request: AgentRequest, name: str) -> list[dict[str, Any]]:
    """Return the interrupts or the answers in the question's metadata."""
    found = request.resume_metadata.get(name)
    items = found if isinstance(found, list) else []
    return [dict(each) for each in items if isinstance(each, dict)]


def _entry(interrupt: Mapping[str, Any], request: AgentRequest) -> dict[str, JSON]:
    payload = answer_to(interrupt, request.parts)
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}


def _question(
    interrupts: Sequence[Mapping[str, Any]], answers: Sequence[Mapping[str, JSON]]
) -> InputRequired:
    """Return the question of the first interrupt; AG-UI requires all answers at once."""
    first = interrupts[0]
    schema = first.get("responseSchema")
    asked = str(first.get("message") or first["reason"])
    kind = AuthRequired if first["reason"] == _AUTH_REASON else InputRequired
    return kind(
        asked,
        [Data({"response_schema": as_json(schema)})] if schema else [],
        metadata={"interrupts": as_json(list(interrupts)), "answers": as_json(list(answers))},
        durable=True,
    )
