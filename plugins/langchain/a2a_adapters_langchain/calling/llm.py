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
    call_options,
    cut,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.callbacks import (
        AsyncCallbackManagerForLLMRun,
        CallbackManagerForLLMRun,
    )
    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import RemoteEvent


class A2ALLM(RemoteModel, BaseLLM):
    """Any A2A agent as an LLM: `prompt | A2ALLM(agent="http://localhost:8000") | parser`.

    Within a thread (`config["configurable"]["thread_id"]`), or with a `context_id`, the agent
    keeps the conversation. The ids, the state and the agent's metadata are in each generation's
    `generation_info`. Data without text is returned as JSON text; for files use `A2AChatModel`.
    `llm("text")` is short for `llm.invoke("text")`.

    Answers are never cached, not even with a cache for all models: agents act, and their answers
    depend on earlier messages.

    Attributes:
        agent: The agent, or its URL.
        context_id: The agent's id of the conversation to continue. A call may set it too, and
            the task that its prompt answers: `invoke(x, context_id=..., task_id=...)`. A call
            also takes `message_metadata`, which is sent with the message, `timeout` in seconds
            and `headers`. Other options, such as `top_p`, are refused.
        stop: Stop sequences, where the answer ends, for calls without their own.
        temperature: Accepted without effect, because LangChain's models have it; likewise
            `max_tokens`.

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

    cache: Literal[False] = Field(default=False, exclude=True)

    # BaseLLM's own lose the config, and with it the thread.
    batch = Runnable.batch
    abatch = Runnable.abatch

    def __call__(self, prompt: str, stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return the answer to a prompt, as `invoke` does.

        Args:
            prompt: The prompt.
            stop: Stop sequences.
            kwargs: Options of the call; `callbacks`, `tags` and `metadata` go to the config.

        Raises:
            RemoteAgentError: The agent does not answer, or its task ended without an answer.
        """
        names = ("callbacks", "tags", "metadata")
        config = cast(
            "RunnableConfig", {name: kwargs.pop(name) for name in names if name in kwargs}
        )
        return self.invoke(prompt, config, stop=stop, **kwargs)

    @override
    def _generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        calls = [self._call(prompt, kwargs) for prompt in prompts]
        replies = [each.conversation.send_sync(each.message, **each.options) for each in calls]
        return LLMResult(generations=[[self._generation(reply, stop)] for reply in replies])

    @override
    async def _agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        calls = [self._call(prompt, kwargs) for prompt in prompts]
        replies = [await each.conversation.send(each.message, **each.options) for each in calls]
        return LLMResult(generations=[[self._generation(reply, stop)] for reply in replies])

    def _call(self, prompt: str, kwargs: dict[str, Any]) -> Call:
        """Return the conversation of a call, its prompt and its options."""
        if context_id := kwargs.get("context_id") or self.context_id:
            conversation = self.agent.conversation(context_id=context_id)
        else:
            conversation = self.agent.conversation(kwargs.get(THREAD))
        return Call(conversation, prompt, call_options(kwargs))

    def _generation(self, reply: AgentReply, stop: Sequence[str] | None) -> Generation:
        text = cut(reply.text or reply.data_text, stop or self.stop)
        return Generation(text=text, generation_info=self._metadata(reply))

    def _chunk(self, event: RemoteEvent, cutter: StopCutter) -> GenerationChunk | None:
        """Convert an event; None if it adds nothing to the answer."""
        match event:
            case TextDelta():
                text = cutter.add(event.text)
                return GenerationChunk(text=text) if text else None
            case AgentReply():
                late = "" if event.text else cutter.add(event.data_text)
                text = late + cutter.rest()
                return GenerationChunk(text=text, generation_info=self._metadata(event))
            case _:
                return None
