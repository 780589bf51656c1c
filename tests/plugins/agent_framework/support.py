"""Agents with scripted models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from a2a_adapters_agent_framework import adapt
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    ResponseStream,
    Workflow,
    WorkflowBuilder,
    tool,
)

from tests.support.adapters import words
from tests.support.agents import items

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Fake", "adapt", "book", "calling", "made", "results", "said", "script", "team", "tool"]

USAGE = {"input_token_count": 3, "output_token_count": 2, "total_token_count": 5}


class Fake(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Answers with what a function makes of the messages it is given; streams words.

    The function returns a text, a content, an exception to raise, a finish reason as a tuple, or a
    list of these; it may be async.
    """

    def __init__(self, answer: Callable[[list[Any]], Any], *, streams: bool = True) -> None:
        super().__init__()
        self._answer = answer
        self._streams = streams
        self.heard: list[list[Any]] = []

    def _inner_get_response(self, *, messages, stream, options, **_):
        answer = ResponseStream(self._updates(messages), finalizer=ChatResponse.from_updates)
        return answer if stream else answer.get_final_response()

    async def _updates(self, messages):
        self.heard.append(list(messages))
        reason = "stop"
        for item in await items(self._answer, messages):
            if isinstance(item, Exception):
                raise item
            if isinstance(item, tuple):
                [reason] = item
                continue
            for content in self._contents(item):
                yield ChatResponseUpdate(contents=[content], role="assistant")
        yield ChatResponseUpdate(contents=[], role="assistant", finish_reason=reason)
        yield ChatResponseUpdate(contents=[Content.from_usage(USAGE)], role="assistant")

    def _contents(self, item):
        if isinstance(item, str):
            return [Content.from_text(word) for word in (words(item) if self._streams else [item])]
        return [item]


def calling(name: str, call_id: str = "c1", **arguments: Any) -> Content:
    """Return a tool call of a model."""
    return Content.from_function_call(call_id, name, arguments=json.dumps(arguments))


def script(*answers: Any, **options: Any) -> Fake:
    """Return a client that gives these answers in turn."""
    left = list(answers)
    return Fake(lambda _: left.pop(0), **options)


def agent(*answers: Any, **options: Any) -> Agent:
    """Return an agent whose model gives these answers in turn."""
    return made(script(*answers), **options)


def made(client: Fake, **options: Any) -> Agent:
    """Return an agent with this model."""
    return Agent(client=client, **{"name": "helper", **options})


def book(log: list[str]) -> Any:
    """Return a tool that books a trip after an approval."""

    @tool(approval_mode="always_require")
    def book(city: str) -> str:
        """Book a trip."""
        log.append(city)
        return f"{city} booked"

    return book


def team(member: Agent) -> Workflow:
    """Return a workflow of one agent."""
    return WorkflowBuilder(start_executor=member, name="team").build()


def said(messages: list[Any]) -> list[str]:
    """Return the texts of the user's messages."""
    return [each.text for each in messages if each.role == "user" and each.text]


def results(messages: list[Any]) -> dict[str, str]:
    """Return the results of tools in the last message, by the id of the call."""
    found = [each for each in messages[-1].contents if each.type == "function_result"]
    return {each.call_id: str(each.result) for each in found}
