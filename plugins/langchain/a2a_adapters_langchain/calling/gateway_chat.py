"""An OmniRoute gateway as a chat model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel, LangSmithParams
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from typing_extensions import override

from a2a_adapters import JSON, TextDelta
from a2a_adapters_langchain.calling.chunks import achunks, chunks
from a2a_adapters_langchain.calling.gateway_fields import GatewayFields, told
from a2a_adapters_langchain.calling.stop import StopCutter, cut

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from a2a_adapters_omniroute import OmniRouteReply
    from langchain_core.callbacks import (
        AsyncCallbackManagerForLLMRun,
        CallbackManagerForLLMRun,
    )


class OmniRouteChatModel(GatewayFields, BaseChatModel):
    """An OmniRoute gateway as a chat model, which is sent all messages with their roles.

    It takes text from the system, the user and the assistant, and no tools. What the gateway says
    about a call is in the answer's `response_metadata`. A call may have options of its own:
    `invoke(x, model=..., combo=..., budget=..., role=..., skill=...)`.

    Raises:
        OmniRouteError: The gateway gives no answer; the subclass says why.
        RemoteAgentError: It cannot be reached, or is too slow.
        ValueError: A message is not text from one of the three.
    """

    @property
    @override
    def _llm_type(self) -> str:
        return "omniroute-chat"

    @property
    @override
    def _identifying_params(self) -> dict[str, Any]:
        return self._gateway_params()

    @override
    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        params = LangSmithParams(
            ls_provider="omniroute",
            ls_model_name=kwargs.get("model", self.model),
            ls_model_type="chat",
        )
        return {**params, "ls_stop": stop} if stop else params

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        skill, metadata = self._call(kwargs)
        return _result(self._client.send_sync(skill, _sent(messages), metadata), stop)

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        skill, metadata = self._call(kwargs)
        return _result(await self._client.send(skill, _sent(messages), metadata), stop)

    @override
    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        skill, metadata = self._call(kwargs)
        events = self._client.stream_sync(skill, _sent(messages), metadata)
        return chunks(events, _chunk, stop, run_manager)

    @override
    def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        skill, metadata = self._call(kwargs)
        events = self._client.stream(skill, _sent(messages), metadata)
        return achunks(events, _chunk, stop, run_manager)


def _sent(messages: Sequence[BaseMessage]) -> list[dict[str, JSON]]:
    return [{"role": _role(message), "content": _text(message)} for message in messages]


def _role(message: BaseMessage) -> str:
    match message:
        case SystemMessage():
            return "system"
        case HumanMessage():
            return "user"
        case AIMessage(tool_calls=[]):
            return "assistant"
        case ChatMessage(role=role):
            return role
        case _:
            raise ValueError("OmniRoute takes messages of the system, the user and the assistant")


def _text(message: BaseMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    if any(block["type"] not in ("text", "reasoning") for block in message.content_blocks):
        raise ValueError("OmniRoute takes text, no files or images")
    return message.text


def _result(reply: OmniRouteReply, stop: Sequence[str] | None) -> ChatResult:
    message = AIMessage(content=cut(reply.text, stop), response_metadata=told(reply))
    return ChatResult(generations=[ChatGeneration(message=message)])


def _chunk(event: TextDelta | OmniRouteReply, cutter: StopCutter) -> ChatGenerationChunk | None:
    """Return what an event adds to the answer, None for nothing."""
    if isinstance(event, TextDelta):
        text = cutter.add(event.text)
        return ChatGenerationChunk(message=AIMessageChunk(content=text)) if text else None
    message = AIMessageChunk(
        content=cutter.rest(), response_metadata=told(event), chunk_position="last"
    )
    return ChatGenerationChunk(message=message)
