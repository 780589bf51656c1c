"""A remote agent as a text-in, text-out language model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from langchain_core.language_models.llms import BaseLLM
from langchain_core.outputs import Generation, GenerationChunk, LLMResult
from langchain_core.runnables import Runnable
from pydantic import ConfigDict, Field
from typing_extensions import override

from a2a_adapters import AgentReply, TextDelta
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
    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import RemoteEvent


class A2ALLM(RemoteModel, BaseLLM):
    """Any A2A agent as an LLM: `prompt | A2ALLM(agent="http://localhost:8000") | parser`.

    Within a thread (`config["configurable"]["thread_id"]`), or with a `context_id`, the agent
    remembers what it was asked before. The ids, the state and the agent's metadata are in each
    generation's `generation_info`. Data without text is returned as JSON text; for files take
    `A2AChatModel`. `llm("text")` is the same as `llm.invoke("text")`.

    Answers are not cached, not even where a cache is set for all models: an agent may act, and
    what it answers depends on what it was told before.

    Attributes:
        agent: The agent, or its URL.
        context_id: The agent's own name of a conversation to go on with. A call may name it too,
            and the task that its prompt answers: `invoke(x, context_id=..., task_id=...)`.
            `message_metadata` of a call is sent as the message's metadata; `timeout` and `headers`
            are those of the call. Other options, `temperature` for instance, are refused.

    With the agent's URL, `timeout`, `max_retries` and `headers` may be given; see `AgentOptions`.

    Raises:
        ConfigurationError: An option is of no use to an agent, or belongs to the `RemoteAgent`.
        RemoteAgentError: The agent does not answer, or its task ended without an answer.
    """

    model_config = ConfigDict(extra="forbid")

    cache: Literal[False] = Field(default=False, exclude=True)

    # Those of BaseLLM lose the config, and with it the thread.
    batch = Runnable.batch
    abatch = Runnable.abatch

    def __call__(self, prompt: str, stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return the answer to a prompt, as `invoke` does.

        Args:
            prompt: What is asked.
            stop: Where the answer ends.
            kwargs: Options of the call; `callbacks`, `tags` and `metadata` are those of the config.

        Raises:
            RemoteAgentError: The agent does not answer, or its task ended without an answer.
        """
        about = ("callbacks", "tags", "metadata")
        config = cast("RunnableConfig", {key: kwargs.pop(key) for key in about if key in kwargs})
        return self.invoke(prompt, config, stop=stop, **kwargs)

    @override
    def _generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        replies = [self._call(prompt, kwargs).send_sync() for prompt in prompts]
        return LLMResult(generations=[[self._generation(reply, stop)] for reply in replies])

    @override
    async def _agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        replies = [await self._call(prompt, kwargs).send() for prompt in prompts]
        return LLMResult(generations=[[self._generation(reply, stop)] for reply in replies])

    @override
    def _stream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[GenerationChunk]:
        events = self._call(prompt, kwargs).stream_sync()
        return chunks(events, self._chunk, stop, run_manager)

    @override
    def _astream(
        self,
        prompt: str,
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[GenerationChunk]:
        events = self._call(prompt, kwargs).stream()
        return achunks(events, self._chunk, stop, run_manager)

    def _call(self, prompt: str, kwargs: dict[str, Any]) -> Call:
        """Return the conversation a call belongs to, and what to send in it."""
        if context_id := kwargs.get("context_id") or self.context_id:
            conversation = self.agent.conversation(context_id=context_id)
        else:
            conversation = self.agent.conversation(kwargs.get(THREAD))
        return Call(
            conversation=conversation,
            message=prompt,
            task_id=kwargs.get("task_id"),
            options=send_options(kwargs),
        )

    def _generation(self, reply: AgentReply, stop: Sequence[str] | None) -> Generation:
        text = cut(reply.text or reply.data_text, stop)
        return Generation(text=text, generation_info=self._told(reply))

    def _chunk(self, event: RemoteEvent, cutter: StopCutter) -> GenerationChunk | None:
        """Return what an event adds to the answer, None for nothing."""
        match event:
            case TextDelta():
                text = cutter.add(event.text)
                return GenerationChunk(text=text) if text else None
            case AgentReply():
                late = "" if event.text else cutter.add(event.data_text)
                text = late + cutter.rest()
                return GenerationChunk(text=text, generation_info=self._told(event))
            case _:
                return None
