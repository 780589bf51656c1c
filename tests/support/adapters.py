"""Drives an adapter in place of the server, and reads its events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from a2a.types import Message

from a2a_adapters import AgentRequest, InputRequired, Limits, Output, Text, TextDelta
from a2a_adapters.plugin import AgentFailedError, AnswerText
from a2a_adapters.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters import AgentEvent, Part
    from a2a_adapters.plugin import Adapter


def request(*parts: Part | str, **fields: Any) -> AgentRequest:
    """Return a request as the server makes it."""
    fields = {"task_id": "task", "context_id": "context", "message": Message(), **fields}
    return AgentRequest(
        parts=[Text(part) if isinstance(part, str) else part for part in parts], **fields
    )


async def ask(adapter: Adapter, *parts: Part | str, **fields: Any) -> list[AgentEvent]:
    """Return all events of one request, and close the generator as the server does."""
    events = adapter.stream(request(*parts, **fields))
    try:
        return [event async for event in events]
    finally:
        await events.aclose()


async def reply(adapter: Adapter, *parts: Part | str, **fields: Any) -> list[AgentEvent]:
    """Answer a durable question."""
    return await ask(adapter, *parts, resuming=True, **fields)


async def failure(adapter: Adapter, secret: str = "hunter2") -> str:
    """Return the category of a failure that does not disclose the secret."""
    with pytest.raises(AgentFailedError) as caught:
        await ask(adapter, "hi")
    assert secret not in str(caught.value)
    return caught.value.category


def deltas(events: list[AgentEvent]) -> list[str]:
    """Return the streamed chunks."""
    return [event.text for event in events if isinstance(event, TextDelta)]


def answer(events: list[AgentEvent]) -> str:
    """Return the answer's text, as it is after all corrections."""
    text = ""
    for event in events:
        match event:
            case TextDelta():
                text += event.text
            case AnswerText():
                text = event.text
    return text


def data(events: list[AgentEvent]) -> list[Any]:
    """Return the data parts of artifacts and questions."""
    kinds = (Output, InputRequired)
    return [part.value for event in events if isinstance(event, kinds) for part in event.parts]


def only(events: list[AgentEvent], kind: Callable[..., Any]) -> Any:
    """Return the one event of a kind."""
    (event,) = [event for event in events if isinstance(event, kind)]
    return event


def words(text: str) -> list[str]:
    """Split a text into the chunks that scripted models stream."""
    first, *others = text.split(" ")
    return [first, *(f" {word}" for word in others)]


class Process:
    """An adapter that is opened and closed as by a server.

    Args:
        url: The storage's URL.
        adapter: The adapter.
        agent: Which agent of the server it is.
    """

    def __init__(self, url, adapter, agent="agent"):
        self._storage = open_storage(url, Limits())
        self._adapter = adapter
        self._agent = agent

    async def __aenter__(self):
        await self._storage.start()
        await self._adapter.open(self._storage.of(self._agent))
        return self._adapter

    async def __aexit__(self, *_):
        await self._adapter.aclose()
        await self._storage.aclose(1)
