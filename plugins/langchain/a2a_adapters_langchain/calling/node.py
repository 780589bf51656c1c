"""A remote agent inside a graph's node: its questions interrupt the graph.

A node that is resumed runs again from its start. Each exchange with the agent is therefore a
LangGraph task, whose result is kept with the interrupted node
(https://docs.langchain.com/oss/python/langgraph/durable-execution).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.func import task
from langgraph.types import interrupt

from a2a_adapters_langchain.calling.messages import is_question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters_langchain.calling.chat_model import A2AChatModel


@task
def _ask(model: A2AChatModel, messages: Sequence[BaseMessage], place: dict[str, str]) -> AIMessage:
    return model.bind(**place).invoke(list(messages))


@task
async def _aask(
    model: A2AChatModel, messages: Sequence[BaseMessage], place: dict[str, str]
) -> AIMessage:
    return await model.bind(**place).ainvoke(list(messages))


def answer(model: A2AChatModel, messages: Sequence[BaseMessage]) -> AIMessage:
    """Return the agent's answer, having passed on its questions."""
    said = _ask(model, messages, {}).result()
    while is_question(said):
        said = _ask(model, [_reply(interrupt(_question(said)))], _place(said)).result()
    return said


async def aanswer(model: A2AChatModel, messages: Sequence[BaseMessage]) -> AIMessage:
    """Return the agent's answer, having passed on its questions."""
    said = await _aask(model, messages, {})
    while is_question(said):
        said = await _aask(model, [_reply(interrupt(_question(said)))], _place(said))
    return said


def _question(message: AIMessage) -> dict[str, Any]:
    blocks = message.content if isinstance(message.content, list) else []
    data = [block["value"] for block in blocks if isinstance(block, dict) and "value" in block]
    return {
        "question": str(message.text),
        "agent": message.response_metadata["agent"],
        **({"data": data} if data else {}),
    }


def _reply(value: object) -> HumanMessage:
    if isinstance(value, str):
        return HumanMessage(value)
    return HumanMessage([{"type": "non_standard", "value": value}])


def _place(message: AIMessage) -> dict[str, str]:
    """Return which task of which conversation asked."""
    return {key: message.response_metadata[key] for key in ("context_id", "task_id")}
