"""A remote agent as a runnable, and so as a node of a graph."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import ensure_config
from typing_extensions import override

from a2a_adapters import Question, RemoteAgent
from a2a_adapters_langchain.calling.chat_model import A2AChatModel
from a2a_adapters_langchain.calling.model import answered_task, thread_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import LanguageModelInput
    from langchain_core.outputs import ChatGenerationChunk, ChatResult
    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import AgentOptions, AgentReply, RemoteEvent
    from a2a_adapters_langchain.calling.model import StopCutter


_MESSAGES = "messages"
_CHECKPOINTER = "__pregel_checkpointer"


class A2ARunnable(Runnable[Any, Any]):
    """Any A2A agent as a runnable: `graph.add_node("weather", A2ARunnable("http://..."))`.

    Takes a graph's state with `messages`, what a prompt makes, a list of messages, one message, or
    a text. A state is answered with `{"messages": [answer]}`, anything else with the answer, an
    `AIMessage`.

    In a graph with a checkpointer a question of the agent interrupts the graph; the interrupt's
    value has `question` and `agent`, and `data` and `files` (content blocks) if it came with any.
    What the graph is resumed with is the answer: a text, a message, or data of any kind. What was
    sent before is not sent again, not even after a restart.
    Elsewhere the question is the answer. Tokens are streamed as those of a chat model.

    Args:
        agent: The agent, or its URL.
        **options: For an agent that is given by its URL; see `AgentOptions`.

    Raises:
        RemoteAgentError: The agent does not answer, or its task ended without an answer.
    """

    def __init__(self, agent: str | RemoteAgent, **options: Unpack[AgentOptions]) -> None:
        remote = RemoteAgent.of(agent, **options)
        self._model = A2AChatModel(agent=remote)
        self._node_model = NodeModel(agent=remote)

    @override
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        config = ensure_config(config)
        if not _can_interrupt(config):
            return _shaped(self._model.invoke(_messages(input), config, **kwargs), input)
        from a2a_adapters_langchain.calling.node import answer  # noqa: PLC0415 - needs langgraph

        return _shaped(answer(self._bound(config, kwargs), config, _messages(input)), input)

    @override
    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        config = ensure_config(config)
        if not _can_interrupt(config):
            return _shaped(await self._model.ainvoke(_messages(input), config, **kwargs), input)
        from a2a_adapters_langchain.calling.node import aanswer  # noqa: PLC0415 - needs langgraph

        said = await aanswer(self._bound(config, kwargs), config, _messages(input))
        return _shaped(said, input)

    @override
    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        if _is_state(input):
            yield self.invoke(input, config, **kwargs)
        else:
            yield from self._model.stream(_messages(input), config, **kwargs)

    @override
    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        if _is_state(input):
            yield await self.ainvoke(input, config, **kwargs)
        else:
            async for chunk in self._model.astream(_messages(input), config, **kwargs):
                yield chunk

    def _bound(
        self, config: RunnableConfig, kwargs: Mapping[str, Any]
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model, told which task its message answers: none that a parallel node got."""
        conversation = self._model.agent.conversation(thread_of(config))
        task_id = answered_task(conversation, config)
        return self._node_model.bind(**{"task_id": task_id, **kwargs})


def _can_interrupt(config: RunnableConfig) -> bool:
    """Whether this runs in a graph that can be resumed."""
    return bool(config.get("configurable", {}).get(_CHECKPOINTER))


def _is_state(input: Any) -> bool:  # noqa: A002 - what LangChain calls it
    is_prompt = isinstance(input, PromptValue)
    return isinstance(input, Mapping) or (hasattr(input, _MESSAGES) and not is_prompt)


def _messages(input: Any) -> list[BaseMessage]:  # noqa: A002 - what LangChain calls it
    if isinstance(input, PromptValue):
        return input.to_messages()
    if isinstance(input, Mapping):
        input = input[_MESSAGES]  # noqa: A001
    elif hasattr(input, _MESSAGES):  # a state that is a model or a dataclass
        input = input.messages  # noqa: A001
    return convert_to_messages(input if isinstance(input, list | tuple) else [input])


def _shaped(answer: AIMessage, input: Any) -> Any:  # noqa: A002 - what LangChain calls it
    return {_MESSAGES: [answer]} if _is_state(input) else answer


class NodeModel(A2AChatModel):
    """Keeps the agent's questions out of its text: the node asks them by an interrupt.

    A question is in `response_metadata["question"]` only; whoever reads the graph's tokens would
    be asked twice otherwise.
    """

    @override
    def _chunk(self, event: RemoteEvent, cutter: StopCutter) -> ChatGenerationChunk | None:
        return None if isinstance(event, Question) else super()._chunk(event, cutter)

    @override
    def _result(self, reply: AgentReply, stop: Sequence[str] | None) -> ChatResult:
        text = reply.text.removesuffix(reply.question).removesuffix("\n")
        return super()._result(replace(reply, text=text) if reply.question else reply, stop)
