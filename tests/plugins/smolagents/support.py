"""Agents with scripted models."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from a2a_adapters_smolagents import adapt
from smolagents import CodeAgent, MultiStepAgent, Tool, ToolCallingAgent
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
    Model,
)
from smolagents.monitoring import LogLevel, TokenUsage

__all__ = ["Fake", "adapt", "calling", "made", "results", "said", "script", "tool"]

_TASK = "New task:\n"
_RESULT = "Observation:\n"


class Fake(Model):  # type: ignore[misc]
    """Answers with what a function makes of the messages it is given.

    The function returns a text, which becomes the final answer, a tool call from `calling`, an
    exception to raise, or a list of these; it may be async.
    """

    def __init__(self, answer: Callable[[list[Any]], Any], *, streams: bool = True) -> None:
        super().__init__()
        self._answer = answer
        self.heard: list[list[Any]] = []

    def generate(
        self, messages: list[Any], tools_to_call_from: Any = None, **_: Any
    ) -> ChatMessage:
        heard = [each for each in messages if each.role != MessageRole.SYSTEM]
        self.heard.append(heard)
        answer = self._answer(heard)
        if inspect.isawaitable(answer):
            answer = asyncio.run(_awaited(answer))
        content, calls = "", []
        for item in answer if isinstance(answer, list) else [answer]:
            if isinstance(item, Exception):
                raise item
            if isinstance(item, str):
                content += item
            else:
                calls.append(item)
        if not calls and tools_to_call_from:
            calls, content = [calling("final_answer", f"f{len(heard)}", answer=content)], ""
        usage = TokenUsage(3, 2)
        return ChatMessage(MessageRole.ASSISTANT, content, calls, token_usage=usage)


async def _awaited(value: Any) -> Any:
    return await value


def calling(name: str, call_id: str = "c1", **arguments: Any) -> ChatMessageToolCall:
    """Return a tool call of a model."""
    return ChatMessageToolCall(ChatMessageToolCallFunction(arguments, name), call_id, "function")


def script(*answers: Any, **options: Any) -> Fake:
    """Return a model that gives these answers in turn."""
    left = list(answers)
    return Fake(lambda _: left.pop(0), **options)


def agent(*answers: Any, **options: Any) -> ToolCallingAgent:
    """Return an agent whose model gives these answers in turn."""
    return made(script(*answers), **options)


def made(
    model: Any,
    *,
    tools: Any = (),
    kind: type[ToolCallingAgent] = ToolCallingAgent,
    **options: Any,
) -> ToolCallingAgent:
    """Return an agent with this model, which prints nothing."""
    quiet = {"verbosity_level": LogLevel.OFF}
    return kind(tools=list(tools), model=model, **{"name": "helper", **quiet, **options})


def coding(
    *answers: str, tools: Any = (), kind: type[CodeAgent] = CodeAgent, **options: Any
) -> CodeAgent:
    """Return an agent whose model writes these pieces of code in turn."""
    left = [f"Thought: hm\n<code>\n{each}\n</code>" for each in answers]

    class Coder(Fake):
        def generate(self, messages: list[Any], **_: Any) -> ChatMessage:
            self.heard.append(messages)
            usage = TokenUsage(3, 2)
            return ChatMessage(MessageRole.ASSISTANT, left.pop(0), token_usage=usage)

    model = Coder(lambda _: "")
    return kind(tools=list(tools), model=model, verbosity_level=LogLevel.OFF, **options)


def tool(function: Callable[..., Any]) -> Tool:
    """Return a tool of a function with texts as arguments."""
    is_async = inspect.iscoroutinefunction(function)

    def forward(self: Any, *args: Any, **given: Any) -> Any:
        value = function(*args, **given)
        return asyncio.run(value) if is_async else value

    names = list(inspect.signature(function).parameters)
    fields = {
        "name": function.__name__,
        "description": (function.__doc__ or function.__name__).strip(),
        "inputs": {name: {"type": "any", "description": name} for name in names},
        "output_type": "any",
        "skip_forward_signature_validation": True,
        "forward": forward,
    }
    kind: type[Tool] = type("Made", (Tool,), fields)
    return kind()


def said(messages: list[Any]) -> list[str]:
    """Return the texts of the user's messages."""
    texts = [_text(each) for each in messages if each.role == MessageRole.USER]
    return [text.removeprefix(_TASK) for text in texts if text.startswith(_TASK)]


def results(messages: list[Any]) -> dict[str, str]:
    """Return the result of a tool after the last message of the user."""
    last = messages[-1]
    text = _text(last)
    return {"c1": text.removeprefix(_RESULT)} if text.startswith(_RESULT) else {}


def _text(message: Any) -> str:
    return "".join(part["text"] for part in message.content if part["type"] == "text")


def team(member: MultiStepAgent, *answers: Any) -> ToolCallingAgent:
    """Return an agent that manages another one."""
    return made(script(*answers), managed_agents=[member], name="boss")
