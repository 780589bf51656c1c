"""Prompts an agent and yields the events of its answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from acp.schema import PromptResponse, TextContentBlock, ToolCallProgress, ToolCallStart

from a2a_adapters import AgentFailedError, Rejected
from a2a_adapters_acp.serving.client import Asked
from a2a_adapters_acp.serving.questions import Question
from a2a_adapters_acp.serving.updates import TurnReader

if TYPE_CHECKING:
    from a2a_adapters import AgentEvent, AgentRequest
    from a2a_adapters_acp.serving.content import Block
    from a2a_adapters_acp.serving.session import Session

_FILES = "files"
"""The entry of a message's metadata that requests changed files as a whole."""
_SLOW = (PromptResponse, ToolCallProgress, ToolCallStart)
"""What has texts to compare or files to read."""


async def answered(
    session: Session, request: AgentRequest, prompt: Sequence[Block], granted: set[str]
) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
    """Prompt the agent and yield the events of its answer, with questions about permissions.

    Args:
        session: The agent.
        request: The message that is answered.
        prompt: What the agent is asked.
        granted: Fingerprints of tool calls that are allowed, each once.

    Raises:
        AgentFailedError: The agent failed.
    """
    reader = TurnReader(
        session.folder,
        wants_progress=request.wants_progress,
        wants_files=request.metadata.get(_FILES) is True,
    )
    while prompt:
        reasons: list[str] = []
        async with aclosing(session.prompt(prompt, granted)) as turn:
            async for news in turn:
                if isinstance(news, Asked):
                    asking = await asyncio.to_thread(Question, news, session.folder)
                    while asking.is_open:
                        asking.give((yield asking.event))
                    reasons.append(asking.reason)
                    continue
                is_end = isinstance(news, PromptResponse)
                events = reader.end(news) if is_end else reader.read(news)
                if isinstance(news, _SLOW):
                    events = iter(await asyncio.to_thread(list, events))
                for event in events:
                    yield event
                if is_end and news.stop_reason == "refusal":
                    yield Rejected("The agent refuses to do this.")
                    return
                if is_end and news.stop_reason == "cancelled":
                    raise AgentFailedError("internal", "The agent stopped its work.")
        # A denial has no reason in ACP: the caller's is the next prompt.
        prompt = [TextContentBlock(type="text", text=reason) for reason in reasons if reason]
