"""A remote agent inside a graph's node: its questions interrupt the graph.

A node that is resumed runs again from its start. Each exchange with the agent is therefore a
LangGraph task, whose result is kept with the interrupted node
(https://docs.langchain.com/oss/python/langgraph/durable-execution).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.func import task
from langgraph.types import interrupt

from a2a_adapters_langchain.calling.messages import data_block, is_question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import LanguageModelInput
    from langchain_core.runnables import Runnable, RunnableConfig


_Model: TypeAlias = "Runnable[LanguageModelInput, AIMessage]"


# An argument named `config` would be LangGraph's: that of the task, not that of the node.
@task
def _ask(model: _Model, node: RunnableConfig, messages: Sequence[BaseMessage]) -> AIMessage:
    return model.invoke(list(messages), node)


@task
async def _aask(model: _Model, node: RunnableConfig, messages: Sequence[BaseMessage]) -> AIMessage:
    return await model.ainvoke(list(messages), node)


def answer(model: _Model, config: RunnableConfig, messages: Sequence[BaseMessage]) -> AIMessage:
    """Return the agent's answer, having passed on its questions."""
    said = _ask(model, config, messages).result()
    while is_question(said):
        reply = _reply(interrupt(_question(said)))
        said = _ask(model.bind(**_place(said)), config, [reply]).result()
    return said


async def aanswer(
    model: _Model, config: RunnableConfig, messages: Sequence[BaseMessage]
) -> AIMessage:
    """Return the agent's answer, having passed on its questions."""
    said: AIMessage = await _aask(model, config, messages)
    while is_question(said):
        reply = _reply(interrupt(_question(said)))
        said = await _aask(model.bind(**_place(said)), config, [reply])
    return said


def _question(message: AIMessage) -> dict[str, Any]:
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
    if isinstance(value, str):
        return HumanMessage(value)
    return HumanMessage([data_block(value)])


def _place(message: AIMessage) -> dict[str, str]:
    """Return which task of which conversation asked."""
    return {key: message.response_metadata[key] for key in ("context_id", "task_id")}
