"""A remote agent as an LLM."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from llama_index.core.base.llms.generic_utils import (
    astream_chat_response_to_completion_response,
    chat_response_to_completion_response,
    stream_chat_response_to_completion_response,
)
from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    DocumentBlock,
    ImageBlock,
    LLMMetadata,
    TextBlock,
)
from llama_index.core.llms.callbacks import llm_chat_callback
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.types import PydanticProgramMode
from pydantic import PrivateAttr

from a2a_adapters import AgentReply, ConfigurationError, File, Part, RemoteAgent, Text, TextDelta
from a2a_adapters.plugin import blocking, dialogue

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterator, Sequence

    from a2a_adapters.plugin import AgentOptions

_PLACE = "a2a"
"""Key in the `additional_kwargs` of an answer: its place in the remote conversation."""
_Place: TypeAlias = tuple[str, str]
"""A context and a task that waits, or ""."""
_GO_ON = Text("Please go on.")
_SPEAKERS = {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Tool"}


class A2ALLM(FunctionCallingLLM):
    """Any A2A agent as an LLM: `FunctionAgent(llm=A2ALLM("http://localhost:8000"))`.

    The remote agent keeps the conversation, and the message of each answer has its place in
    `additional_kwargs`: a chat whose history contains such an answer sends only the messages after
    it. One LLM serves any number of agents and conversations. A question is returned as the answer,
    and the next message answers it.

    If the agent corrects text that it has streamed, the last response of a stream has the corrected
    text. The agent has its own tools and accepts none. Data of an answer is given as text.

    Args:
        agent: The agent, or its URL.
        **options: Options for an agent given by its URL; see `AgentOptions`.
    """

    _agent: RemoteAgent = PrivateAttr()

    def __init__(self, agent: RemoteAgent | str, **options: Unpack[AgentOptions]) -> None:
        super().__init__(pydantic_program_mode=PydanticProgramMode.LLM)
        self._agent = RemoteAgent.of(agent, **options)

    @classmethod
    def class_name(cls) -> str:
        """The name of this class."""
        return "A2ALLM"

    @property
    def metadata(self) -> LLMMetadata:
        """The agent's address, as the model's name."""
        return LLMMetadata(
            model_name=self._agent.name, is_chat_model=True, is_function_calling_model=True
        )

    @llm_chat_callback()
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **_: Any
    ) -> AsyncGenerator[ChatResponse]:
        """Return the agent's answer as a stream. Closing it cancels the remote task.

        Raises:
            RemoteAgentError: The agent does not answer.
        """
        return self._responses(messages)

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """Return the agent's answer.

        Raises:
            RemoteAgentError: The agent does not answer.
        """
        return await self._response(messages)

    @llm_chat_callback()
    def stream_chat(
        self, messages: Sequence[ChatMessage], **_: Any
    ) -> Generator[ChatResponse, None, None]:
        """Return the agent's answer as a blocking stream."""
        return blocking.iterate(self._responses(messages))

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """Return the agent's answer; blocks."""
        return blocking.run(self._response(messages))

    async def astream_complete(self, prompt: str, *_: Any, **__: Any) -> Any:
        """Return the agent's answer to a text, in a new conversation, as a stream."""
        chunks = await self.astream_chat([ChatMessage(prompt)])
        return astream_chat_response_to_completion_response(chunks)

    async def acomplete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        """Return the agent's answer to a text, in a new conversation."""
        return chat_response_to_completion_response(await self.achat([ChatMessage(prompt)]))

    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> Any:
        """Return the agent's answer to a text, in a new conversation, as a blocking stream."""
        chunks = self.stream_chat([ChatMessage(prompt)])
        return stream_chat_response_to_completion_response(chunks)

    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        """Return the agent's answer to a text, in a new conversation; blocks."""
        return chat_response_to_completion_response(self.chat([ChatMessage(prompt)]))

    def get_tool_calls_from_response(self, *_: Any, **__: Any) -> list[Any]:
        """Return no calls."""
        return []

    def _prepare_chat_with_tools(  # type: ignore[override]  # in part
        self, tools: Sequence[Any], *, chat_history: Any = None, **_: Any
    ) -> dict[str, Any]:
        """Return the arguments of a chat (called by the framework).

        Raises:
            ConfigurationError: The agent does not support tools.
        """
        if tools:
            raise ConfigurationError(
                "a remote agent has its own tools and takes none: remove the tools of the agent "
                "whose LLM is an A2ALLM, and in a team give it can_handoff_to=[]"
            )
        return {"messages": chat_history or []}

    async def _response(self, messages: Sequence[ChatMessage]) -> ChatResponse:
        return [response async for response in self._responses(messages)][-1]

    async def _responses(self, messages: Sequence[ChatMessage]) -> AsyncGenerator[ChatResponse]:
        place, new = self._new(messages)
        text = ""
        context_id, task_id = place
        answer = self._agent.stream(_parts(new), context_id=context_id, task_id=task_id)
        async with aclosing(answer) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    text += event.text
                    yield ChatResponse(message=_message(text), delta=event.text)
                elif isinstance(event, AgentReply):
                    yield self._last(event, text)

    def _new(self, messages: Sequence[ChatMessage]) -> tuple[_Place, Sequence[ChatMessage]]:
        """Return the place in the agent's conversation, and the messages that are new to it."""
        for position in range(len(messages), 0, -1):
            found = messages[position - 1].additional_kwargs.get(_PLACE)
            if found and found["agent"] == self._agent.name:
                return (found["context_id"], found["task_id"]), messages[position:]
        return ("", ""), messages

    def _last(self, reply: AgentReply, text: str) -> ChatResponse:
        whole = "\n".join(filter(None, (reply.text, reply.data_text)))
        message = _message(whole)
        message.additional_kwargs[_PLACE] = {
            "agent": self._agent.name,
            "context_id": reply.context_id,
            "task_id": reply.task_id if reply.is_question else "",
        }
        message.blocks += [
            ImageBlock(image=file.content, image_mimetype=file.guess_media_type())
            for file in reply.files
            if file.content and file.guess_media_type().startswith("image/")
        ]
        usage, raw = reply.counted_usage(__name__), {}
        if usage:
            tokens = {
                "prompt_tokens": usage.input_tokens,
                "completion_tokens": usage.output_tokens,
                "total_tokens": usage.total_tokens,
            }
            raw = {"usage": tokens}
        delta = whole.removeprefix(text) if whole.startswith(text) else ""
        return ChatResponse(message=message, delta=delta, raw=raw)


def _message(text: str) -> ChatMessage:
    return ChatMessage(text, role="assistant")


def _parts(messages: Sequence[ChatMessage]) -> list[Part]:
    """Convert messages to the parts of one message, a dialogue unless the user wrote them all."""
    turns = [
        (_SPEAKERS.get(message.role, "User"), list(_converted(message))) for message in messages
    ]
    return dialogue([turn for turn in turns if turn[1]]) or [_GO_ON]


def _converted(message: ChatMessage) -> Iterator[Part]:
    for block in message.blocks:
        match block:
            case TextBlock(text=str(text)) if text:
                yield Text(text)
            case ImageBlock(image=bytes()):
                content, media_type = block.resolve_image().read(), block.image_mimetype or ""
                yield File(content=content, media_type=media_type)
            case AudioBlock(audio=bytes()):
                content, media_type = block.resolve_audio().read(), f"audio/{block.format or '*'}"
                yield File(content=content, media_type=media_type)
            case DocumentBlock(data=bytes()):
                media_type, name = block.document_mimetype or "", block.title or ""
                content = block.resolve_document().read()
                yield File(content=content, media_type=media_type, filename=name)
