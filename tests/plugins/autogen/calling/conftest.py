from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from a2a_adapters import Conversation


@pytest.fixture
def has_begun(monkeypatch):
    """Return an event that is set when the first word of an answer arrives."""
    begun = asyncio.Event()
    stream = Conversation.stream

    async def watched(self, message, **options):
        async with aclosing(stream(self, message, **options)) as events:
            async for event in events:
                begun.set()
                yield event

    monkeypatch.setattr(Conversation, "stream", watched)
    return begun
