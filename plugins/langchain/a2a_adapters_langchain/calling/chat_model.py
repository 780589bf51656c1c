"""A remote agent as a chat model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn

from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import ConfigDict, Field
from typing_extensions import override

from a2a_adapters import AgentReply, TextDelta
from a2a_adapters_langchain.calling.messages import (
    is_question,
    last_answer,
    late_blocks,
    messages_after,
    to_message,
    to_parts,
    usage_of,
)
from a2a_adapters_langchain.calling.model import (
    THREAD,
    Call,
    RemoteModel,
    StopCutter,
    achunks,
    chunks,
    cut,
    send_options,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from langchain_core.callbacks import (
        AsyncCallbackManagerForLLMRun,
        CallbackManagerForLLMRun,
    )
    from langchain_core.messages import BaseMessage

    from a2a_adapters import RemoteEvent


class A2AChatModel(RemoteModel, BaseChatModel):
    """Any A2A agent as a chat model: `A2AChatModel(agent="http://localhost:8000")`.

    Within a thread (`config["configurable"]["thread_id"]`), or with a `context_id`, the agent
    keeps the conversation: it is sent only the messages after its own last one. Without, every
    call is a conversation of its own and is sent all messages; only the answer to a question
    the agent has asked goes on with its task.

    A question of the agent is an answer whose `response_metadata["state"]` is "input-required".
    Files and images are sent and come back as content blocks, data as non-standard ones:
    `{"type": "non_standard", "value": {"type": "data", "data": ...}}`.

    Answers are not cached, not even where a cache is set for all models: an agent may act, and
    what it answers depends on what it was told before.

    Attributes:
        agent: The agent, or its URL.
        context_id: The agent's own name of a conversation to go on with. A call may name it too,
            and the task that its message answers: `invoke(x, context_id=..., task_id=...)`.
            `message_metadata` of a call is sent as the message's metadata; `timeout` and `headers`
            are those of the call. Other options, `temperature` for instance, are refused.
        streaming: Whether `invoke` streams too; by default it does so where something listens.

    With the agent's URL, `timeout`, `max_retries` and `headers` may be given; see `AgentOptions`.

    Raises:
        ConfigurationError: An option is of no use to an agent, or belongs to the `RemoteAgent`.
        RemoteAgentError: The agent does not answer, or its task ended without an answer.
    """

    model_config = ConfigDict(extra="forbid")

    streaming: bool | None = None
    cache: Literal[False] = Field(default=False, exclude=True)

    @override
    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = LangSmithParams(
            ls_provider="a2a",
            ls_model_name=kwargs.get("model") or self.agent.name,
            ls_model_type="chat",
        )
        return {**params, "ls_stop": stop} if stop else params

    @override
    def bind_tools(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: a remote agent has its own tools.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            "an A2A agent uses its own tools and takes none; to let a model choose among "
            "agents, give that model each agent as an A2ATool"
        )

    @override
    def with_structured_output(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: A2A has no way to ask for a schema.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            "an A2A agent cannot be asked for a schema; data that it sends by itself is in the "
            "answer's content, as blocks of type non_standard"
        )

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._result(self._call(messages, kwargs).send_sync(), stop)

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._result(await self._call(messages, kwargs).send(), stop)

    @override
    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        events = self._call(messages, kwargs).stream_sync()
        return chunks(events, self._chunk, stop, run_manager)

    @override
    def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        events = self._call(messages, kwargs).stream()
        return achunks(events, self._chunk, stop, run_manager)

    def _call(self, messages: Sequence[BaseMessage], kwargs: dict[str, Any]) -> Call:
        """Return the conversation a call belongs to, what to send in it, and what that answers."""
        context_id, thread = kwargs.get("context_id") or self.context_id, kwargs.get(THREAD)
        answer = last_answer(messages, self.agent.name)
        written = answer.response_metadata if answer else {}
        asked = written.get("task_id") if answer is not None and is_question(answer) else None
        if context_id:
            conversation = self.agent.conversation(context_id=context_id)
        elif thread is not None:
            conversation = self.agent.conversation(thread)
            if conversation.context_id:  # which knows best whether a question still waits
                asked = None
            else:  # begun by another process
                context_id = written.get("context_id", "")
                conversation = self.agent.conversation(thread, context_id=context_id)
        else:
            context_id = written.get("context_id", "") if asked else ""
            conversation = self.agent.conversation(context_id=context_id)
        is_known = bool(conversation.context_id) and (
            written.get("context_id") == conversation.context_id
        )
        news = messages_after(messages, answer) if is_known else messages
        task_id = kwargs.get("task_id")
        return Call(
            conversation=conversation,
            message=to_parts(news),
            task_id=asked if task_id is None else task_id,
            options=send_options(kwargs),
        )

    def _result(self, reply: AgentReply, stop: Sequence[str] | None) -> ChatResult:
        message = to_message(reply, cut(reply.text, stop), self._told(reply))
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _chunk(self, event: RemoteEvent, cutter: StopCutter) -> ChatGenerationChunk | None:
        """Return what an event adds to the answer, None for nothing."""
        match event:
            case TextDelta():
                text = cutter.add(event.text)
                return ChatGenerationChunk(message=AIMessageChunk(content=text)) if text else None
            case AgentReply():
                late, rest = late_blocks(event), cutter.rest()
                content = [*([{"type": "text", "text": rest}] if rest else []), *late]
                message = AIMessageChunk(
                    content=content if late else rest,
                    usage_metadata=usage_of(event),
                    response_metadata=self._told(event),
                    chunk_position="last",
                )
                return ChatGenerationChunk(message=message)
            case _:
                return None
