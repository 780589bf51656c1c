"""A remote agent as a chat model."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal, cast

from langchain_core.language_models import BaseChatModel, LangSmithParams, ModelProfile
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_json_schema
from pydantic import ConfigDict, Field
from typing_extensions import override

from a2a_adapters import AgentReply, TextDelta
from a2a_adapters.plugin import blocking
from a2a_adapters_langchain.calling.messages import (
    content_of,
    is_question,
    last_answer,
    to_parts,
    usage_of,
)
from a2a_adapters_langchain.calling.model import (
    THREAD,
    Call,
    RemoteModel,
    StopCutter,
    call_options,
    cut,
)
from a2a_adapters_langchain.calling.structured import FAULT, Structured, structured_output

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from langchain_core.callbacks import (
        AsyncCallbackManagerForLLMRun,
        CallbackManagerForLLMRun,
    )
    from langchain_core.language_models import LanguageModelInput
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import Runnable

    from a2a_adapters import RemoteEvent


class _AnswerChunk(ChatGenerationChunk):
    """A chunk of an answer; the last chunk has the whole content if it was corrected."""

    whole: Any = Field(default=None, exclude=True)

    @override
    def __add__(
        self, other: ChatGenerationChunk | list[ChatGenerationChunk]
    ) -> ChatGenerationChunk:
        merged = super().__add__(other)
        last = other[-1] if isinstance(other, list) and other else other
        if isinstance(last, _AnswerChunk) and last.whole is not None:
            merged.message.content = last.whole
        return merged


def _whole(result: ChatResult) -> ChatGenerationChunk:
    """Return an answer as the only chunk of a stream."""
    message = cast("AIMessage", result.generations[0].message)
    return _AnswerChunk(
        message=AIMessageChunk(
            content=message.content,
            usage_metadata=message.usage_metadata,
            response_metadata=message.response_metadata,
            chunk_position="last",
        )
    )


class A2AChatModel(RemoteModel, BaseChatModel):
    """Any A2A agent as a chat model: `A2AChatModel(agent="http://localhost:8000")`.

    Within a thread (`config["configurable"]["thread_id"]`), or with a `context_id`, the agent
    keeps the conversation and receives only the messages after its own last one. Otherwise each
    call starts a new conversation with all messages, except that the reply to a question
    continues the task that asked it.

    A question of the agent is an answer whose `response_metadata["state"]` is "input-required".
    Files and images are content blocks in both directions. Data is a non-standard block:
    `{"type": "non_standard", "value": {"type": "data", "data": ...}}`.

    If the agent corrects text that it has streamed, messages of `invoke` have the corrected text,
    also where LangChain streams them. Chunks cannot be withdrawn: the last one of a `stream` has
    the text as `response_metadata["corrected_text"]`.

    Answers are never cached, not even with a cache for all models: agents act, and their answers
    depend on earlier messages.

    Attributes:
        agent: The agent, or its URL.
        context_id: The agent's id of the conversation to continue. A call may set it too, and the
            task that its message answers: `invoke(x, context_id=..., task_id=...)`. A call also
            takes `message_metadata`, which is sent with the message, `timeout` in seconds and
            `headers`, and `response_format` as in OpenAI's API, see `with_structured_output`. Other
            options, such as `top_p`, are refused.
        stop: Stop sequences, where the answer ends, for calls without their own.
        temperature: Accepted without effect, because LangChain's models have it; likewise
            `max_tokens`.
        streaming: Whether `invoke` streams; by default it does if a callback listens.

    An agent given by its URL also takes `timeout`, `max_retries` and `headers`, see
    `AgentOptions`, and `api_key`, which is sent as a bearer token.

    Raises:
        ConfigurationError: An agent does not support an option, or it belongs to the
            `RemoteAgent`.
        RemoteAgentError: The agent does not answer, or its task ended without an answer.
    """

    model_config = ConfigDict(extra="forbid")

    # Otherwise type checkers derive one from the fields, without the options of an agent.
    __init__ = RemoteModel.__init__

    streaming: bool | None = None
    cache: Literal[False] = Field(default=False, exclude=True)
    profile: ModelProfile | None = Field(
        default_factory=lambda: ModelProfile(structured_output=True), exclude=True
    )

    @override
    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = LangSmithParams(
            ls_provider="a2a",
            ls_model_name=kwargs.get("model") or self.agent.name,
            ls_model_type="chat",
        )
        if self.temperature is not None:
            params["ls_temperature"] = self.temperature
        if self.max_tokens is not None:
            params["ls_max_tokens"] = self.max_tokens
        if stop := stop or self.stop:
            params["ls_stop"] = stop
        return params

    @override
    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: str | None = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind options of calls; refuse tools, because a remote agent has its own.

        Raises:
            NotImplementedError: There are tools.
        """
        if not tools:  # so do agents of LangChain; answers are validated, `strict` or not
            return self.bind(**kwargs)
        raise NotImplementedError(
            "an A2A agent uses its own tools and takes none; to let a model choose among "
            "agents, give that model each agent as an A2ATool"
        )

    @override
    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """Return a runnable whose results conform to a schema.

        They are the data of the agent's answer, or the JSON in its text. An agent whose card does
        not declare JSON as its first output is told the schema. If an answer does not conform, the
        agent is asked once more.

        Args:
            schema: A pydantic model, a TypedDict, a JSON schema or an OpenAI function.
            include_raw: Whether results are dicts with the keys `raw`, `parsed` and
                `parsing_error`.
            **kwargs: `method` and `strict`, which make no difference.

        Raises:
            OutputParserException: From calls: the agent asks a question, or its second answer does
                not conform either.
            ValueError: There are other arguments.
        """
        if unknown := sorted(kwargs.keys() - {"method", "strict"}):
            raise ValueError(f"with_structured_output takes no {', '.join(unknown)}")
        shape = convert_to_json_schema(schema)
        named = {"name": shape.get("title", "output"), "schema": shape}
        asked = self.bind(
            response_format={"type": "json_schema", "json_schema": named},
            ls_structured_output_format={"kwargs": {"method": "json_schema"}, "schema": shape},
        )
        return structured_output(asked, schema, include_raw=include_raw)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if response_format := kwargs.pop("response_format", None):
            return blocking.run(self._structured(messages, response_format, kwargs))
        conversation, parts, options = self._call(messages, kwargs)
        return self._result(conversation.send_sync(parts, **options), stop or self.stop)

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if response_format := kwargs.pop("response_format", None):
            return await self._structured(messages, response_format, kwargs)
        conversation, parts, options = self._call(messages, kwargs)
        return self._result(await conversation.send(parts, **options), stop or self.stop)

    async def _structured(
        self, messages: Sequence[BaseMessage], response_format: Any, kwargs: dict[str, Any]
    ) -> ChatResult:
        """Return an answer that conforms to a schema, or says in its metadata why it does not."""
        wanted = Structured(response_format)
        reply = await wanted.ask(self.agent, self._call(messages, kwargs))
        result = self._result(reply, None)
        if fault := wanted.fault(reply):
            result.generations[0].message.response_metadata[FAULT] = fault
        return result

    if not TYPE_CHECKING:  # type checkers see the declarations of `RemoteModel`

        @override
        def _stream(
            self, prompt: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> Iterator[Any]:
            if kwargs.get("response_format"):
                chunk = _whole(self._generate(prompt, stop, **kwargs))
                if run_manager:
                    run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk
            else:
                yield from super()._stream(prompt, stop, run_manager, **kwargs)

        @override
        async def _astream(
            self, prompt: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> AsyncIterator[Any]:
            if kwargs.get("response_format"):
                chunk = _whole(await self._agenerate(prompt, stop, **kwargs))
                if run_manager:
                    await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk
                return
            async with aclosing(super()._astream(prompt, stop, run_manager, **kwargs)) as chunks:
                async for chunk in chunks:
                    yield chunk

    def _call(self, messages: Sequence[BaseMessage], kwargs: dict[str, Any]) -> Call:
        """Return the conversation of a call, the messages that are new to it, and the options."""
        context_id, thread = kwargs.get("context_id") or self.context_id, kwargs.get(THREAD)
        answer, new = last_answer(messages, self.agent.name)
        known = answer.response_metadata if answer else {}
        asked = known.get("task_id") if answer is not None and is_question(answer) else None
        if context_id:
            conversation = self.agent.conversation(context_id=context_id)
        elif thread is not None:
            conversation = self.agent.conversation(thread)
            if conversation.context_id:  # it knows best whether a question is still open
                asked = None
            else:  # another process began it
                context_id = known.get("context_id", "")
                conversation = self.agent.conversation(thread, context_id=context_id)
        else:
            context_id = known.get("context_id", "") if asked else ""
            conversation = self.agent.conversation(context_id=context_id)
        continues = known.get("context_id") == conversation.context_id != ""
        options = call_options(kwargs)
        if options["task_id"] is None:
            options["task_id"] = asked
        return Call(conversation, to_parts(new if continues and new else messages), options)

    def _result(self, reply: AgentReply, stop: Sequence[str] | None) -> ChatResult:
        message = AIMessage(
            content=self._content(reply, stop),
            usage_metadata=usage_of(reply),
            response_metadata=self._metadata(reply),
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _content(self, reply: AgentReply, stop: Sequence[str] | None) -> Any:
        """Return the content of an answer's message."""
        return content_of(cut(reply.text, stop) if stop else reply.text, reply)

    def _chunk(self, event: RemoteEvent, cutter: StopCutter) -> ChatGenerationChunk | None:
        """Convert an event; None if it adds nothing to the answer."""
        match event:
            case TextDelta():
                text = cutter.add(event.text)
                return _AnswerChunk(message=AIMessageChunk(content=text)) if text else None
            case AgentReply():
                message = AIMessageChunk(
                    content=content_of(cutter.rest(), event),
                    usage_metadata=usage_of(event),
                    response_metadata=self._metadata(event),
                    chunk_position="last",
                )
                whole = self._content(event, cutter.stop) if event.is_corrected else None
                return _AnswerChunk(message=message, whole=whole)
            case _:
                return None
