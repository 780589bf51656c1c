"""The local language model of the examples."""

from __future__ import annotations

import sys
from pathlib import Path

from a2a_adapters import build_app
from a2a_adapters.testing import connect, running, stream, user_message

ASKED, TOLD = "What is the capital of Italy?", "The capital of Italy is Rome."
EXAMPLE = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": TOLD}]
"""An example of what is wanted, because the model has no chat tuning."""


def address():
    """Return the base address of the model's API, which is OpenAI's."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
    from local_model import local_model

    return local_model()


async def check_it_streams(target):
    """Assert that a target, which has the example, streams its answer to a similar question."""
    async with running(build_app(target)) as url, connect(url) as caller:
        events = await stream(caller, user_message("What is the capital of France?"))
    updates = [event.artifact_update for event in events if event.HasField("artifact_update")]
    assert len(updates) > 3, "it streams token by token"
    assert "Paris" in "".join(p.text for update in updates for p in update.artifact.parts)
