"""An agent that does whatever a client has to be able to show."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from a2a_adapters.contract.adapter import AgentRequest
from a2a_adapters.contract.events import InputRequired, Output, Rejected
from a2a_adapters.contract.parts import Data, File

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


async def practice(
    request: AgentRequest,
) -> AsyncGenerator[str | InputRequired | Rejected | Output, AgentRequest]:
    """Say what it is told; ask, refuse, draw and wait do what they say."""
    words = request.text.split()
    if "refuse" in words:
        yield Rejected("You told me to refuse.")
        return
    if "ask" in words:
        words = (yield InputRequired("What do you want to hear?")).text.split()
    for word in words:
        yield f"{word} "
    if "draw" in words:
        sky = File(content=b"* . *\n", media_type="text/plain", filename="sky.txt")
        yield Output([sky, Data({"stars": 2})])
    if "wait" in words:
        await asyncio.Event().wait()
