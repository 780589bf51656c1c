"""Agents with scripted models."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from a2a_adapters_google_adk import adapt
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.genai.types import (
    Content,
    FunctionCall,
    GenerateContentResponseUsageMetadata,
    Part,
)
from pydantic import PrivateAttr

from tests.support.adapters import words
from tests.support.agents import items

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Fake", "adapt", "book", "calling", "made", "results", "said", "script", "tool"]

USAGE = GenerateContentResponseUsageMetadata(
    prompt_token_count=3, candidates_token_count=2, total_token_count=5
)


class Fake(BaseLlm):
    """Answers with what a function makes of the contents it is given; streams words.

    The function returns a text, a part, an exception to raise, a whole response, or a list of
    these; it may be async.
    """

    _answer: Any = PrivateAttr()
    _streams: bool = PrivateAttr()
    _heard: list[list[Any]] = PrivateAttr(default_factory=list)

    def __init__(self, answer: Callable[[list[Content]], Any], *, streams: bool = True) -> None:
        super().__init__(model="fake")
        self._answer = answer
        self._streams = streams

    @property
    def heard(self) -> list[list[Content]]:
        """The contents of all calls."""
        return self._heard

    async def generate_content_async(self, llm_request, stream=False):
        self._heard.append(list(llm_request.contents))
        whole = []
        for item in await items(self._answer, llm_request.contents):
            if isinstance(item, Exception):
                raise item
            if isinstance(item, LlmResponse):
                yield item
                return
            if isinstance(item, Part):
                whole.append(item)
                continue
            whole.append(Part(text=item))
            for word in words(item) if stream and self._streams else ():
                yield LlmResponse(content=model(Part(text=word)), partial=True)
        yield LlmResponse(content=model(*whole), usage_metadata=USAGE)


def model(*parts: Part) -> Content:
    """Return what a model says."""
    return Content(role="model", parts=list(parts))


def calling(name: str, call_id: str = "c1", **arguments: Any) -> Part:
    """Return a tool call of a model."""
    return Part(function_call=FunctionCall(id=call_id, name=name, args=arguments))


def script(*answers: Any, **options: Any) -> Fake:
    """Return a model that gives these answers in turn."""
    left = list(answers)
    return Fake(lambda _: left.pop(0), **options)


def agent(*answers: Any, **options: Any) -> LlmAgent:
    """Return an agent whose model gives these answers in turn."""
    return made(script(*answers), **options)


def made(model: Fake, **options: Any) -> LlmAgent:
    """Return an agent with this model."""
    return LlmAgent(model=model, **{"name": "helper", **options})


def tool(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which is a tool as it is."""
    return function


def book(log: list[str]) -> FunctionTool:
    """Return a tool that books a trip after a confirmation."""

    def book(city: str) -> str:
        """Book a trip."""
        log.append(city)
        return f"{city} booked"

    return FunctionTool(book, require_confirmation=True)


def composed(kind: type, *agents: Any, **options: Any) -> Any:
    """Return a composed agent; the framework prefers workflows to them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return kind(sub_agents=list(agents), **{"name": "team", **options})


def said(contents: list[Content]) -> list[str]:
    """Return the texts of the user's messages."""
    return [
        part.text for each in contents if each.role == "user" for part in each.parts if part.text
    ]


def results(contents: list[Content]) -> dict[str, str]:
    """Return the results of tools in the last message, by the id of the call."""
    found = [part.function_response for part in contents[-1].parts if part.function_response]
    return {each.id: str(each.response.get("result", each.response.get("error"))) for each in found}
