"""An agent of Strands that works for hours, until it is cancelled."""

from __future__ import annotations

import asyncio

from strands import Agent
from strands.models import Model

stopped = asyncio.Event()
"""Set when a model call was cancelled."""


class Slow(Model):
    """Stands in for a language model that takes its time."""

    def get_config(self):
        """Return no settings."""
        return {}

    def update_config(self, **model_config):
        """Ignore settings."""

    def structured_output(self, *args, **kwargs):
        """Refuse structured output."""
        raise NotImplementedError

    async def stream(self, *_, **__):
        """Begin an answer, and never end it."""
        yield {"messageStart": {"role": "assistant"}}
        try:
            await asyncio.sleep(3600)
        finally:
            stopped.set()


def researcher() -> Agent:
    return Agent(model=Slow(), name="researcher", description="Researches cities thoroughly.")
