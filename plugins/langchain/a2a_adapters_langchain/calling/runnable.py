"""A remote agent as a runnable, and so as a node of a graph.

LangGraph runs a resumed node again from its start. Each exchange with the agent is therefore a
LangGraph task, whose result is kept with the interrupted node
(https://docs.langchain.com/oss/python/langgraph/durable-execution).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import ensure_config
from langgraph.func import task
from langgraph.types import interrupt
from typing_extensions import override

from a2a_adapters import Question, RemoteAgent
from a2a_adapters_langchain.calling.chat_model import A2AChatModel
from a2a_adapters_langchain.calling.messages import data_block, is_question
from a2a_adapters_langchain.calling.model import answered_task, thread_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import LanguageModelInput
    from langchain_core.outputs import ChatGenerationChunk
    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import AgentReply, RemoteEvent
    from a2a_adapters.plugin import AgentOptions
    from a2a_adapters_langchain.calling.model import StopCutter


_Model: TypeAlias = "Runnable[LanguageModelInput, AIMessage]"

_MESSAGES = "messages"
_CHECKPOINTER = "__pregel_checkpointer"


class A2ARunnable(Runnable[Any, Any]):
    """Any A2A agent as a runnable: `graph.add_node("weather", A2ARunnable("http://..."))`.

    The input is a graph's state with `messages`, a prompt value, a list of messages, one message,
    or text. The answer to a state is `{"messages": [answer]}`, otherwise an `AIMessage`.

    In a graph with a checkpointer a question of the agent interrupts the graph. The value of the
    interrupt has `question` and `agent`, and `data` and `files` (content blocks) if the question
    came with any. The graph is resumed with the reply: text, a message, or data of any kind.
    Earlier messages are not sent again, not even after a restart. Elsewhere the question is the
    answer. Tokens are streamed like those of a chat model.

    Args:
        agent: The agent, or its URL.
        **options: Options for an agent given by its URL; see `AgentOptions`.

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
        model = self._bound(config, kwargs)
        answer = _ask(model, config, _messages(input)).result()
        while is_question(answer):
            reply = _reply(interrupt(_question(answer)))
            answer = _ask(model.bind(**_place(answer)), config, [reply]).result()
        return _shaped(answer, input)

    @override
    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        config = ensure_config(config)
        if not _can_interrupt(config):
            return _shaped(await self._model.ainvoke(_messages(input), config, **kwargs), input)
        model = self._bound(config, kwargs)
        answer: AIMessage = await _aask(model, config, _messages(input))
        while is_question(answer):
            reply = _reply(interrupt(_question(answer)))
            answer = await _aask(model.bind(**_place(answer)), config, [reply])
        return _shaped(answer, input)

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

    def _bound(self, config: RunnableConfig, kwargs: Mapping[str, Any]) -> _Model:
        """Bind the model to the task that its message answers."""
        conversation = self._model.agent.conversation(thread_of(config))
        task_id = answered_task(conversation, config)
        return self._node_model.bind(**{"task_id": task_id, **kwargs})


# LangGraph would replace an argument named `config` by the task's own configuration.
@task
def _ask(model: _Model, node: RunnableConfig, messages: Sequence[BaseMessage]) -> AIMessage:
    return model.invoke(list(messages), node)


@task
async def _aask(model: _Model, node: RunnableConfig, messages: Sequence[BaseMessage]) -> AIMessage:
    return await model.ainvoke(list(messages), node)


def _question(message: AIMessage) -> dict[str, Any]:
    """Return the value of the interrupt that asks the agent's question."""
    blocks = [b for b in message.content if isinstance(b, dict) and b["type"] != "text"]
    data = [block["value"]["data"] for block in blocks if block["type"] == "non_standard"]
    files = [block for block in blocks if block["type"] != "non_standard"]
    return {
        "question": message.response_metadata["question"],
        "agent": message.response_metadata["agent"],
        **({"data": data} if data else {}),
        **({"files": files} if files else {}),
    }


def _reply(value: object) -> BaseMessage:
    if isinstance(value, BaseMessage):
        return value
    return HumanMessage(value if isinstance(value, str) else [data_block(value)])


def _place(message: AIMessage) -> dict[str, str]:
    """Return the ids of the conversation and the task that asked."""
    return {key: message.response_metadata[key] for key in ("context_id", "task_id")}


def _can_interrupt(config: RunnableConfig) -> bool:
    """Whether this runs in a graph that can be resumed."""
    return bool(config.get("configurable", {}).get(_CHECKPOINTER))


def _is_state(input: Any) -> bool:  # noqa: A002 - LangChain's name
    is_prompt = isinstance(input, PromptValue)
    return isinstance(input, Mapping) or (hasattr(input, _MESSAGES) and not is_prompt)


def _messages(input: Any) -> list[BaseMessage]:  # noqa: A002 - LangChain's name
    if isinstance(input, PromptValue):
        return input.to_messages()
    if isinstance(input, Mapping):
        input = input[_MESSAGES]  # noqa: A001
    elif hasattr(input, _MESSAGES):  # a state that is a model or a dataclass
        input = input.messages  # noqa: A001
    return convert_to_messages(input if isinstance(input, list | tuple) else [input])


def _shaped(answer: AIMessage, input: Any) -> Any:  # noqa: A002 - LangChain's name
    return {_MESSAGES: [answer]} if _is_state(input) else answer


class NodeModel(A2AChatModel):
    """Keeps an agent's question out of the streamed text: the node's interrupt asks it.

    The question is in `response_metadata["question"]` only. Otherwise readers of the graph's
    tokens would see it twice.
    """

    @override
    def _chunk(self, event: RemoteEvent, cutter: StopCutter) -> ChatGenerationChunk | None:
        return None if isinstance(event, Question) else super()._chunk(event, cutter)

    @override
    def _content(self, reply: AgentReply, stop: Sequence[str] | None) -> Any:
        text = reply.text.removesuffix(reply.question).removesuffix("\n")
        return super()._content(replace(reply, text=text) if reply.question else reply, stop)
