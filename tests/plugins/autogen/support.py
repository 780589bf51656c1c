"""Agents without a paid model, and the driver that plays the server core."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from a2a.types import Message
from autogen_agentchat.agents import AssistantAgent, BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

from a2a_adapters import AgentRequest, InputRequired, Output, Text, TextDelta
from tests.support import adapters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from a2a_adapters import AgentEvent, Part
    from a2a_adapters.plugin import Adapter


def model(*lines: str | CreateResult, vision: bool = False) -> ReplayChatCompletionClient:
    """Return a model that says the lines in turn."""
    info = ModelInfo(
        vision=vision,
        function_calling=True,
        json_output=True,
        family="unknown",
        structured_output=True,
    )
    return ReplayChatCompletionClient(list(lines), model_info=info)


def calling(name: str, call_id: str = "c1", **arguments: Any) -> CreateResult:
    """Return a model's answer that calls a tool."""
    call = FunctionCall(id=call_id, name=name, arguments=json.dumps(arguments))
    usage = RequestUsage(prompt_tokens=3, completion_tokens=4)
    return CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False)


def agent(*lines: str | CreateResult, name: str = "helper", **options: Any) -> AssistantAgent:
    """Return an agent whose model says the lines in turn."""
    options = {"model_client_stream": True, **options}
    return AssistantAgent(name, model(*lines), **options)


class Custom(BaseChatAgent):
    """Answers with the result of a function of all messages so far."""

    def __init__(
        self,
        answer: Callable[..., Any],
        name: str = "custom",
        produces: Sequence[type[BaseChatMessage]] = (),
    ) -> None:
        super().__init__(name, "Does what a test wants.")
        self._produces = (TextMessage, *produces)
        self._answer = answer
        self._heard: list[str] = []

    @property
    def produced_message_types(self):
        return self._produces

    async def on_messages(self, messages, cancellation_token):
        self._heard += [message.to_text() for message in messages]
        answer = self._answer(list(self._heard))
        if asyncio.iscoroutine(answer):
            answer = await answer
        if not isinstance(answer, BaseChatMessage):
            answer = TextMessage(content=answer, source=self.name)
        return Response(chat_message=answer)

    async def on_reset(self, cancellation_token):
        self._heard = []

    async def save_state(self):
        return {"heard": list(self._heard)}

    async def load_state(self, state):
        self._heard = list(state["heard"])


def round_robin(*agents: BaseChatAgent, **options: Any) -> RoundRobinGroupChat:
    """Return a team in which each agent speaks once."""
    options = {"max_turns": len(agents), **options}
    return RoundRobinGroupChat(list(agents), **options)


def request(*parts: Part | str, **fields: Any) -> AgentRequest:
    """Return a request as the core makes it."""
    fields = {"task_id": "task", "context_id": "context", "message": Message(), **fields}
    return AgentRequest(
        parts=[Text(part) if isinstance(part, str) else part for part in parts], **fields
    )


async def run(adapter: Adapter, asked: AgentRequest) -> list[AgentEvent]:
    """Return all events of one request, closing the generator as the core does."""
    events = adapter.stream(asked)
    try:
        return [event async for event in events]
    finally:
        await events.aclose()


async def ask(adapter: Adapter, *parts: Part | str, **fields: Any) -> list[AgentEvent]:
    """Send a message and return its events."""
    return await run(adapter, request(*parts, **fields))


async def reply(
    adapter: Adapter, question: InputRequired, *parts: Part | str, **fields: Any
) -> list[AgentEvent]:
    """Answer a durable question."""
    fields = {"resuming": True, "resume_metadata": question.metadata, **fields}
    return await run(adapter, request(*parts, **fields))


def deltas(events: list[AgentEvent]) -> list[str]:
    """Return the streamed chunks."""
    return [event.text for event in events if isinstance(event, TextDelta)]


def answer(events: list[AgentEvent]) -> str:
    """Return the final task's text: the answer, and text artifacts on lines of their own."""
    texts = [adapters.answer(events)]
    for event in events:
        if isinstance(event, Output):
            texts += [part.text for part in event.parts if isinstance(part, Text)]
    return "\n".join(filter(None, texts))


def only(events: list[AgentEvent], kind: Callable[..., Any]) -> Any:
    """Return the one event of a kind."""
    (event,) = [event for event in events if isinstance(event, kind)]
    return event
