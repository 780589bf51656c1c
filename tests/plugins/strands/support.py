"""Agents with scripted models."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from a2a_adapters_strands import adapt
from strands import Agent, ToolContext, tool
from strands.models import Model
from strands.multiagent import GraphBuilder
from strands.multiagent.graph import Graph

from tests.support.adapters import words
from tests.support.agents import items

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["Fake", "adapt", "book", "calling", "made", "results", "said", "script", "team", "tool"]


class Fake(Model):
    """Answers with what a function makes of the messages it is given; streams words.

    The function returns a text, a tool call from `calling`, a content block, an exception to
    raise, a stop reason as a tuple, or a list of these; it may be async.
    """

    def __init__(self, answer: Callable[[list[Any]], Any], *, streams: bool = True) -> None:
        self._answer = answer
        self._streams = streams
        self.heard: list[list[Any]] = []

    def update_config(self, **_):
        pass

    def get_config(self):
        return {}

    def structured_output(self, *_, **__):
        raise NotImplementedError

    async def stream(self, messages, tool_specs=None, system_prompt=None, **_):
        self.heard.append(list(messages))
        stop = "end_turn"
        yield {"messageStart": {"role": "assistant"}}
        for item in await items(self._answer, messages):
            if isinstance(item, Exception):
                raise item
            if isinstance(item, tuple):
                [stop] = item
                continue
            if isinstance(item, dict) and "toolUse" in item:
                stop = "tool_use"
            for event in self._block(item):
                yield event
        yield {"messageStop": {"stopReason": stop}}
        usage = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}

    def _block(self, item):
        if isinstance(item, str):
            yield {"contentBlockStart": {"start": {}}}
            for chunk in words(item) if self._streams else [item]:
                yield {"contentBlockDelta": {"delta": {"text": chunk}}}
        elif "cited" in item:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": item["cited"]}}}
            yield {"contentBlockDelta": {"delta": {"citation": {"title": "a source"}}}}
        elif "thought" in item:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"reasoningContent": {"text": item["thought"]}}}}
        else:
            call = item["toolUse"]
            start = {"name": call["name"], "toolUseId": call["toolUseId"]}
            yield {"contentBlockStart": {"start": {"toolUse": start}}}
            given = {"input": json.dumps(call["input"])}
            yield {"contentBlockDelta": {"delta": {"toolUse": given}}}
        yield {"contentBlockStop": {}}


def calling(name: str, call_id: str = "c1", **arguments: Any) -> dict[str, Any]:
    """Return a tool call of a model."""
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}


def script(*answers: Any, **options: Any) -> Fake:
    """Return a model that gives these answers in turn."""
    left = list(answers)
    return Fake(lambda _: left.pop(0), **options)


def agent(*answers: Any, **options: Any) -> Agent:
    """Return an agent whose model gives these answers in turn."""
    return made(script(*answers), **options)


def made(model: Model, **options: Any) -> Agent:
    """Return an agent with this model, which does not print its answers."""
    return Agent(model=model, **{"name": "helper", "callback_handler": None, **options})


def book(log: list[str]) -> Any:
    """Return a tool that asks before it books a trip, and repeats what the caller says."""

    @tool(context=True)
    def book(city: str, tool_context: ToolContext) -> str:
        """Book a trip."""
        decision = tool_context.interrupt("book", {"question": f"Book {city}?", "city": city})
        log.append(city)
        return f"{city}: {decision}"

    return book


def team(*members: Agent) -> Graph:
    """Return a graph in which each agent hears the one before."""
    builder = GraphBuilder()
    builder.set_max_node_executions(10)
    for each in members:
        builder.add_node(each, each.name)
    for one, two in itertools.pairwise(members):
        builder.add_edge(one.name, two.name)
    builder.set_entry_point(members[0].name)
    return builder.build()


def said(messages: list[Any]) -> list[str]:
    """Return the texts of the user's messages."""
    blocks = [block for each in messages if each["role"] == "user" for block in each["content"]]
    return [block["text"] for block in blocks if "text" in block]


def results(messages: list[Any]) -> dict[str, str]:
    """Return the texts of the results of tools in the last message, by the id of the call."""
    found = [block["toolResult"] for block in messages[-1]["content"] if "toolResult" in block]
    return {each["toolUseId"]: each["content"][0]["text"] for each in found}
