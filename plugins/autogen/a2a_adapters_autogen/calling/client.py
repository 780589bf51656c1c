"""A remote agent as a model client."""

from __future__ import annotations

import hashlib
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from autogen_core import CancellationToken, Component
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)
from pydantic import BaseModel
from pydantic_core import to_json
from typing_extensions import override

from a2a_adapters import AgentReply, RemoteAgent, SendOptions, TextDelta
from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.plugin import AgentOptions
from a2a_adapters_autogen.calling.messages import answer_events, model_parts, usage_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from autogen_core.tools import Tool, ToolSchema

    from a2a_adapters import Conversation, Part


_LIMIT = 10_000


class Dialogues:
    """The conversations of one model client, by their messages.

    AutoGen passes all messages to each call of a model, without an id of the conversation. Messages
    that begin with those of an earlier call and its answer belong to its conversation: the agent
    is sent the new ones only.

    A conversation is continued once: a second call with the same messages starts another one. Two
    conversations with identical messages are indistinguishable: neither is continued, and the
    agent is sent all messages again.
    """

    def __init__(self, agent: RemoteAgent) -> None:
        self._agent = agent
        self._by_words: BoundedMap[str, Conversation | None] = BoundedMap(_LIMIT)

    def take(self, messages: Sequence[LLMMessage]) -> tuple[Conversation, Sequence[LLMMessage]]:
        """Return the conversation, and the messages that its agent has not received yet."""
        digests = _digests(messages)
        for position in range(len(messages) - 1, 0, -1):
            words = digests[position - 1]
            if conversation := self._by_words.get(words):
                self._by_words.pop(words)
                return conversation, messages[position:]
        return self._agent.conversation(), messages

    def keep(self, conversation: Conversation, messages: Sequence[LLMMessage], answer: str) -> None:
        """Remember a conversation by its messages, if the agent keeps it."""
        if conversation.context_id:
            said = [*messages, AssistantMessage(content=answer, source="")]
            words = _digests(said)[-1]
            self._by_words[words] = None if words in self._by_words else conversation


def _digests(messages: Sequence[LLMMessage]) -> list[str]:
    """Return a digest for each prefix of the messages."""
    digest = hashlib.sha256()
    names = []
    for message in messages:
        # The local agent sets the source and thought of the remote agent's messages.
        own = isinstance(message, AssistantMessage)
        words = message.content if own else message.model_dump(mode="json")
        digest.update(to_json([message.type, words]))
        names.append(digest.hexdigest())
    return names


_INFO = ModelInfo(
    vision=True,
    function_calling=False,
    json_output=False,
    structured_output=False,
    family=ModelFamily.UNKNOWN,
    multiple_system_messages=True,
)


class RemoteConfig(BaseModel):
    """The serializable configuration of a remote agent: its URL, never its credentials."""

    url: str
    timeout: float | None = None
    max_retries: int | None = None

    def options(self) -> AgentOptions:
        """Return the configuration as options of an agent."""
        return AgentOptions(timeout=self.timeout, max_retries=self.max_retries)


class A2AChatCompletionClient(ChatCompletionClient, Component[RemoteConfig]):
    """Any A2A agent as a model: `A2AChatCompletionClient("http://localhost:8000")`.

    The agent keeps the conversation: when the messages continue those of an earlier call to
    this client, only the new ones are sent. One client may serve many agents and conversations.
    A question of the agent is its answer, and the next message answers it.

    The agent has its own tools, accepts none, and cannot be asked for a schema. Data and the names
    of files in its answer are given as text. A call's `extra_create_args` may have
    `message_metadata`, sent as the message's metadata, and `timeout` and `headers` of the call.

    Args:
        agent: The agent, or its URL.
        **options: Options for an agent given by its URL; see `AgentOptions`. With `headers`, the
            object cannot be dumped, because they may be credentials.
    """

    component_type = "model"
    component_config_schema = RemoteConfig
    component_provider_override = "a2a_adapters_autogen.A2AChatCompletionClient"

    def __init__(self, agent: RemoteAgent | str, **options: Unpack[AgentOptions]) -> None:
        self._given = agent, options
        self._agent = RemoteAgent.of(agent, **options)
        self._dialogues = Dialogues(self._agent)
        self._last = self._total = RequestUsage(prompt_tokens=0, completion_tokens=0)

    @override
    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        """Return the agent's answer; for the options see `create_stream`.

        Raises:
            ValueError: The call has tools, or asks for JSON.
            RemoteAgentError: The agent does not answer.
        """
        chunks = self.create_stream(messages, **options)
        return [chunk async for chunk in chunks if isinstance(chunk, CreateResult)][-1]

    async def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",  # noqa: ARG002 - no tools
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Yield the agent's answer as it arrives, and finally the whole answer.

        Raises:
            ValueError: The call has tools, or asks for JSON.
            RemoteAgentError: The agent does not answer.
        """
        _refuse(tools, json_output)
        options = self._options(extra_create_args or {})
        conversation, new = self._dialogues.take(messages)
        parts = self._parts(new)
        answer = answer_events(conversation, parts, cancellation_token, **options)
        async with aclosing(answer):
            async for event in answer:
                if isinstance(event, TextDelta):
                    yield event.text
                elif isinstance(event, AgentReply):
                    if rest := event.rest_text:
                        yield f"\n{rest}" if event.text else rest
                    text = event.whole_text
                    self._dialogues.keep(conversation, messages, text)
                    yield self._result(event, text)

    async def close(self) -> None:
        """Close the agent's connections; the next call opens them again."""
        await self._agent.aclose()

    def actual_usage(self) -> RequestUsage:
        """Return the tokens of the last call, as far as the agent reports them."""
        return self._last

    def total_usage(self) -> RequestUsage:
        """Return the tokens of all calls, as far as the agent reports them."""
        return self._total

    @override
    def count_tokens(self, *_: Any, **__: Any) -> int:
        return 0  # the agent's tokenizer is unknown

    @override
    def remaining_tokens(self, *_: Any, **__: Any) -> int:
        return sys.maxsize  # no limit is known

    @property
    def capabilities(self) -> ModelInfo:
        """The same as `model_info`."""
        return _INFO

    @property
    def model_info(self) -> ModelInfo:
        """The capabilities of the model. The agent receives images, but may refuse them."""
        return _INFO

    def _options(self, extra: Mapping[str, Any]) -> SendOptions:
        """Return the options of a call's message.

        Raises:
            ValueError: An option is not supported.
        """
        if unknown := extra.keys() - {"message_metadata", "timeout", "headers"}:
            raise ValueError(f"an A2A agent has no options: {', '.join(sorted(unknown))}")
        return SendOptions(
            metadata=extra.get("message_metadata"),
            timeout=extra.get("timeout"),
            headers=extra.get("headers"),
        )

    def _parts(self, messages: Sequence[LLMMessage]) -> list[Part]:
        """Convert messages to parts for the agent."""
        return model_parts(messages)

    def _result(self, reply: AgentReply, text: str) -> CreateResult:
        usage = self._last = usage_of(reply)
        self._total = RequestUsage(
            prompt_tokens=self._total.prompt_tokens + usage.prompt_tokens,
            completion_tokens=self._total.completion_tokens + usage.completion_tokens,
        )
        return CreateResult(finish_reason="stop", content=text, usage=usage, cached=False)

    def _to_config(self) -> RemoteConfig:
        return remote_config(*self._given)

    @classmethod
    def _from_config(cls, config: RemoteConfig) -> Self:
        return cls(config.url, **config.options())


def remote_config(agent: RemoteAgent | str, options: AgentOptions) -> RemoteConfig:
    """Return the configuration that represents an agent in a dump.

    Raises:
        ValueError: A `RemoteAgent` or headers were given, which a dump would lose.
    """
    if not isinstance(agent, str):
        raise ValueError("a RemoteAgent cannot be dumped; give the URL of the agent")  # noqa: TRY004 - AutoGen's
    if options.get("headers"):
        raise ValueError("headers may be credentials and cannot be dumped; leave them out")
    return RemoteConfig(
        url=agent, timeout=options.get("timeout"), max_retries=options.get("max_retries")
    )


def _refuse(tools: Sequence[Tool | ToolSchema], json_output: bool | type[BaseModel] | None) -> None:
    if tools:
        raise ValueError(
            "an A2A agent uses its own tools and takes none; to let a model choose among "
            "agents, give that model each agent as an A2ATool"
        )
    if json_output:
        raise ValueError("an A2A agent cannot be asked for JSON")
