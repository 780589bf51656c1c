"""A remote agent as a participant of teams."""

from __future__ import annotations

import logging
import re
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Self, Unpack
from uuid import uuid4

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    HandoffMessage,
    ModelClientStreamingChunkEvent,
    MultiModalMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
)
from autogen_core import CancellationToken, Component, FunctionCall
from autogen_core.models import FunctionExecutionResult

from a2a_adapters import (
    AgentReply,
    Part,
    Question,
    RemoteAgent,
    RemoteAgentError,
    RemoteEvent,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
)
from a2a_adapters.plugin import check_arguments
from a2a_adapters_autogen.calling.client import RemoteConfig, remote_config
from a2a_adapters_autogen.calling.messages import (
    USER,
    answer_events,
    chat_parts,
    images_of,
    json_text,
    restored,
    saved,
    usage_of,
)
from a2a_adapters_autogen.serving.runners import current_relay

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

    from a2a_adapters.plugin import AgentDescription, AgentOptions

logger = logging.getLogger(__name__)

_GO_ON = Text("Please go on.")


class A2AAgentConfig(RemoteConfig):
    """The agent's serializable configuration."""

    name: str
    description: str
    user: str = USER


class A2AAgent(BaseChatAgent, Component[A2AAgentConfig]):
    """Any A2A agent in a team: `A2AAgent("weather", "http://localhost:8000")`.

    It has one conversation with the remote agent, whose id is part of its state, and sends the
    messages since its last turn. Text is streamed; an answer with images is a
    `MultiModalMessage`; data and the names of other files become text.

    A question of the remote agent is sent to the caller of a served team, whichever kind of team it
    is, and the reply continues this agent's turn. Elsewhere it is a `HandoffMessage` to the user,
    and the next message answers it.

    Args:
        name: Its name in the team, a Python identifier.
        agent: The agent, or its URL.
        description: Description by which teams choose a member.
        user: The target of handoffs with questions.
        **options: Options for an agent given by its URL; see `AgentOptions`. With `headers`, the
            object cannot be dumped, because they may be credentials.
    """

    component_config_schema = A2AAgentConfig
    component_provider_override = "a2a_adapters_autogen.A2AAgent"

    def __init__(
        self,
        name: str,
        agent: RemoteAgent | str,
        *,
        description: str = "An agent on another server.",
        user: str = USER,
        **options: Unpack[AgentOptions],
    ) -> None:
        check_arguments(A2AAgent, locals())
        super().__init__(name, description)
        self._given = agent, options
        self._agent = RemoteAgent.of(agent, **options)
        self._user = user
        self._conversation = self._agent.conversation()

    @classmethod
    async def from_card(
        cls, agent: RemoteAgent | str, *, user: str = USER, **options: Unpack[AgentOptions]
    ) -> Self:
        """Return an agent that is named and described by its card.

        Raises:
            RemoteAgentError: The card cannot be read.
        """
        about = await RemoteAgent.of(agent, **options).describe()
        name, description = _identifier(about.name), _description(about)
        return cls(name, agent, description=description, user=user, **options)

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Text, text with images, and questions."""
        return (TextMessage, MultiModalMessage, HandoffMessage)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        """Return the agent's answer.

        Raises:
            RemoteAgentError: The agent does not answer.
        """
        stream = self.on_messages_stream(messages, cancellation_token)
        return [event async for event in stream if isinstance(event, Response)][-1]

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """Yield the agent's answer as it arrives, and finally the whole answer.

        Raises:
            RemoteAgentError: The agent does not answer.
        """
        message_id = str(uuid4())
        parts: Sequence[Part] = chat_parts(messages) or [_GO_ON]
        inner: list[BaseAgentEvent | BaseChatMessage] = []
        reply: RemoteEvent | None = None
        while parts:
            answer = answer_events(self._conversation, parts, cancellation_token)
            parts = ()
            async with aclosing(answer):
                async for reply in answer:
                    for news in self._news(reply, message_id):
                        if not isinstance(news, ModelClientStreamingChunkEvent):
                            inner.append(news)
                        yield news
            assert isinstance(reply, AgentReply)  # noqa: S101 - every stream ends with one
            if reply.is_question and (relay := current_relay.get()):
                others = [part for part in reply.status_parts if not isinstance(part, Text)]
                parts = await relay(self.name, reply.text, others, self.withdraw)
        assert isinstance(reply, AgentReply)  # noqa: S101 - there was a message
        message = self._message(reply, message_id)
        yield Response(chat_message=message, inner_messages=inner)

    async def withdraw(self) -> None:
        """Cancel the remote task that waits for an answer; a failure is logged."""
        if task_id := self._conversation.task_id:
            self._conversation.task_id = ""
            try:
                await self._agent.cancel(task_id)
            except RemoteAgentError as error:
                logger.warning("remote task %s could not be cancelled: %s", task_id, error)

    async def on_reset(self, cancellation_token: CancellationToken) -> None:  # noqa: ARG002
        """Begin a new conversation."""
        self._conversation = self._agent.conversation()

    async def save_state(self) -> Mapping[str, Any]:
        """Return the context id, and the id of the task that waits, if any."""
        return saved(self._conversation)

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue the conversation of a saved state."""
        self._conversation = restored(self._agent, state)

    async def close(self) -> None:
        """Close the connections, unless they belong to a `RemoteAgent` that was given."""
        if isinstance(self._given[0], str):
            await self._agent.aclose()

    def _chunk(self, text: str, message_id: str) -> ModelClientStreamingChunkEvent:
        return ModelClientStreamingChunkEvent(
            content=text, source=self.name, full_message_id=message_id
        )

    def _message(self, reply: AgentReply, message_id: str) -> BaseChatMessage:
        about: dict[str, Any] = {
            "id": message_id,
            "source": self.name,
            "models_usage": usage_of(reply),
            "metadata": {
                "a2a_context_id": reply.context_id,
                "a2a_task_id": reply.task_id,
                "a2a_state": reply.state,
            },
        }
        if reply.is_question:
            return HandoffMessage(content=reply.whole_text, target=self._user, **about)
        if images := images_of(reply):
            return MultiModalMessage(content=[reply.whole_text, *images], **about)
        return TextMessage(content=reply.whole_text, **about)

    def _news(self, event: RemoteEvent, message_id: str) -> Iterator[BaseAgentEvent]:
        match event:
            case Question():
                return  # the handoff contains it
            case TextDelta(text=text):
                yield self._chunk(text, message_id)
            case AgentReply(is_question=False) if rest := event.rest_text:
                yield self._chunk(f"\n{rest}" if event.text else rest, message_id)
            case ToolCall(id=call_id, name=name, arguments=arguments):
                call = FunctionCall(id=call_id, name=name, arguments=json_text(arguments))
                yield ToolCallRequestEvent(content=[call], source=self.name)
            case ToolResult(id=call_id, name=name, result=result, is_error=is_error):
                content = json_text(result)
                done = FunctionExecutionResult(
                    content=content, name=name, call_id=call_id, is_error=is_error
                )
                yield ToolCallExecutionEvent(content=[done], source=self.name)

    def _to_config(self) -> A2AAgentConfig:
        return A2AAgentConfig(
            **remote_config(*self._given).model_dump(),
            name=self.name,
            description=self.description,
            user=self._user,
        )

    @classmethod
    def _from_config(cls, config: A2AAgentConfig) -> Self:
        return cls(
            config.name,
            config.url,
            description=config.description,
            user=config.user,
            **config.options(),
        )


def _identifier(name: str) -> str:
    """Convert a name to a Python identifier, as AutoGen requires."""
    slug = re.sub(r"\W+", "_", name).strip("_")
    if not slug:
        return "agent"
    return slug if slug.isidentifier() else f"agent_{slug}"


def _description(about: AgentDescription) -> str:
    skills = "".join(f"\n- {skill.name}: {skill.description}" for skill in about.skills)
    return f"{about.description}\nIt can:{skills}" if skills else about.description
