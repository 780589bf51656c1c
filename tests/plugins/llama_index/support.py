"""Agents and workflows with scripted models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from a2a_adapters_llama_index import adapt
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import FunctionTool
from pydantic import PrivateAttr
from workflows import Context
from workflows.events import HumanResponseEvent, InputRequiredEvent

from a2a_adapters import Data
from tests.support.adapters import words
from tests.support.agents import items

__all__ = ["Fake", "adapt", "book", "calling", "made", "results", "said", "script", "team", "tool"]

USAGE = {"usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}


class Fake(FunctionCallingLLM):
    """Answers with what a function makes of the messages it is given; streams words.

    The function returns a text, a tool call from `calling`, a thought, an exception to raise, or a
    list of these; it may be async.
    """

    _answer: Callable[[list[Any]], Any] = PrivateAttr()
    _streams: bool = PrivateAttr()
    _heard: list[list[Any]] = PrivateAttr(default_factory=list)

    def __init__(self, answer: Callable[[list[Any]], Any], *, streams: bool = True) -> None:
        super().__init__()
        self._answer = answer
        self._streams = streams

    @property
    def heard(self) -> list[list[Any]]:
        return self._heard

    @property
    def metadata(self):
        return LLMMetadata(is_function_calling_model=True, is_chat_model=True)

    def _prepare_chat_with_tools(self, tools, user_msg=None, chat_history=None, **_):
        return {"messages": chat_history or []}

    def get_tool_calls_from_response(self, response, **_):
        return [
            ToolSelection(
                tool_id=block.tool_call_id, tool_name=block.tool_name, tool_kwargs=block.tool_kwargs
            )
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]

    async def astream_chat(self, messages, **_):
        self._heard.append([each for each in messages if each.role != "system"])
        return self._pieces(self._heard[-1])

    async def _pieces(self, messages):
        message = ChatMessage(role="assistant", content="")
        for item in await items(self._answer, messages):
            if isinstance(item, Exception):
                raise item
            if isinstance(item, ToolCallBlock):
                message.blocks.append(item)
                yield ChatResponse(message=message.model_copy(deep=True), delta="", raw=USAGE)
                continue
            if isinstance(item, dict):
                thought = {"thinking_delta": item["thought"]}
                yield ChatResponse(message=message, delta="", additional_kwargs=thought)
                continue
            for chunk in words(item) if self._streams else [item]:
                message.blocks[0].text += chunk
                copy = message.model_copy(deep=True)
                yield ChatResponse(message=copy, delta=chunk, raw=USAGE)

    async def achat(self, messages, **_):
        self._heard.append([each for each in messages if each.role != "system"])
        return [each async for each in self._pieces(self._heard[-1])][-1]

    def chat(self, *_, **__):
        raise NotImplementedError

    complete = stream_chat = stream_complete = acomplete = astream_complete = chat


def calling(name: str, call_id: str = "c1", **arguments: Any) -> ToolCallBlock:
    """Return a tool call of a model."""
    return ToolCallBlock(tool_call_id=call_id, tool_name=name, tool_kwargs=arguments)


def script(*answers: Any, **options: Any) -> Fake:
    """Return a model that gives these answers in turn."""
    left = list(answers)
    return Fake(lambda _: left.pop(0), **options)


def agent(*answers: Any, **options: Any) -> FunctionAgent:
    """Return an agent whose model gives these answers in turn."""
    return made(script(*answers), **options)


def made(model: Any, **options: Any) -> FunctionAgent:
    """Return an agent with this model."""
    return FunctionAgent(llm=model, **{"name": "helper", **options})


def tool(function: Any) -> FunctionTool:
    """Return a tool; its docstring is the description."""
    about = (function.__doc__ or function.__name__).strip()
    return FunctionTool.from_defaults(function, description=about)


def book(log: list[str]) -> FunctionTool:
    """Return a tool that asks before it books a trip, and repeats what the caller says."""

    async def book(ctx: Context, city: str) -> str:
        """Book a trip."""
        reply = await ctx.wait_for_event(
            HumanResponseEvent,
            waiter_event=InputRequiredEvent(prefix=f"Book {city}?", city=city),
            waiter_id=f"book {city}",
            requirements={"city": city},
        )
        log.append(city)
        return f"{city}: {reply.response}"

    return waiting(book)


def waiting(function: Any) -> FunctionTool:
    """Return a tool of a function with a context; the framework reads no annotation as text."""
    function.__annotations__["ctx"] = Context
    return FunctionTool.from_defaults(function)


def team(*members: FunctionAgent) -> AgentWorkflow:
    """Return a team whose first agent begins."""
    return AgentWorkflow(list(members), root_agent=members[0].name)


def said(messages: list[Any]) -> list[str]:
    """Return the texts of the user's messages."""
    return [each.content for each in messages if each.role == "user"]


def results(messages: list[Any]) -> dict[str, str]:
    """Return the texts of the results of tools after the last message of the user."""
    found: dict[str, str] = {}
    for each in messages:
        if each.role == "tool":
            found[each.additional_kwargs["tool_call_id"]] = each.content
        elif each.role == "user":
            found.clear()
    return found


async def gen(text: str) -> AsyncGenerator[str]:
    """Yield the words of a text."""
    for word in words(text):
        yield word


async def forever() -> None:
    """Wait without an end."""
    await asyncio.Event().wait()


def said_as(value: Any) -> Data:
    """Return a message whose text is any value."""
    return Data({"user_msg": value})
