"""An OmniRoute gateway as a text-in, text-out language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.language_models.llms import BaseLLM
from langchain_core.outputs import Generation, GenerationChunk, LLMResult
from langchain_core.runnables import Runnable
from typing_extensions import override

from a2a_adapters import TextDelta
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


class OmniRouteA2A(GatewayFields, BaseLLM):
    """An OmniRoute gateway as an LLM: `prompt | OmniRouteA2A(model="auto") | parser`.

    Each prompt is one message of the user. What the gateway says about a call
    (`routing_explanation`, `cost_envelope`, `resilience_trace`, `policy_verdict`, `task_id`) is in
    the generation's `generation_info`, as far as it says it. A call may have options of its own:
    `invoke(x, model=..., combo=..., budget=..., role=..., skill=...)`.

    Raises:
        OmniRouteError: The gateway gives no answer; the subclass says why.
        RemoteAgentError: It cannot be reached, or is too slow.
    """

    # Those of BaseLLM send one prompt after the other, and fail as a whole.
    batch = Runnable.batch
    abatch = Runnable.abatch

    @property
    @override
    def _llm_type(self) -> str:
        return "omniroute"

    @property
    @override
    def _identifying_params(self) -> dict[str, Any]:
        return self._gateway_params()

    @override
    def _generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        skill, metadata = self._call(kwargs)
        replies = [self._client.send_sync(skill, prompt, metadata) for prompt in prompts]
        return LLMResult(generations=[[_generation(reply, stop)] for reply in replies])

    @override
    async def _agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        skill, metadata = self._call(kwargs)
        replies = [await self._client.send(skill, prompt, metadata) for prompt in prompts]
        return LLMResult(generations=[[_generation(reply, stop)] for reply in replies])

    @override
    def _stream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[GenerationChunk]:
        skill, metadata = self._call(kwargs)
        events = self._client.stream_sync(skill, prompt, metadata)
        return chunks(events, _chunk, stop, run_manager)

    @override
    def _astream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[GenerationChunk]:
        skill, metadata = self._call(kwargs)
        events = self._client.stream(skill, prompt, metadata)
        return achunks(events, _chunk, stop, run_manager)


def _generation(reply: OmniRouteReply, stop: Sequence[str] | None) -> Generation:
    return Generation(text=cut(reply.text, stop), generation_info=told(reply))


def _chunk(event: TextDelta | OmniRouteReply, cutter: StopCutter) -> GenerationChunk | None:
    """Return what an event adds to the answer, None for nothing."""
    if isinstance(event, TextDelta):
        text = cutter.add(event.text)
        return GenerationChunk(text=text) if text else None
    return GenerationChunk(text=cutter.rest(), generation_info=told(event))
