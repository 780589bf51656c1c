"""Prompts an agent, and yields the events of its answer and its questions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from acp.schema import PromptResponse, TextContentBlock, ToolCallProgress, ToolCallStart

from a2a_adapters import AgentEvent, AgentRequest, InputRequired, Progress, Rejected, TaskMetadata
from a2a_adapters.plugin import AgentFailedError, ResumeError
from a2a_adapters_acp.serving.client import Asked
from a2a_adapters_acp.serving.content import prompt_of
from a2a_adapters_acp.serving.questions import Question, read_stored_answer, repeated
from a2a_adapters_acp.serving.updates import TurnReader

if TYPE_CHECKING:
    from a2a_adapters_acp.serving.content import Block
    from a2a_adapters_acp.serving.session import Session

Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]

_FILES = "files"
"""The entry of a message's metadata that requests whole changed files."""
_SLOW = (PromptResponse, ToolCallProgress, ToolCallStart)
"""What has texts to compare or files to read."""
_LOST = "The agent's earlier session could not be loaded: it does not remember the conversation."
_CANNOT_CONTINUE = "The agent was restarted and cannot load its session; please start a new task."


class Turn:
    """An agent's work on a message. It pauses at each question to the caller.

    Args:
        branch: The conversation's git branch, or "".

    Attributes:
        session: The agent's session, once `run` has been called.
        question: The open question, if any.
    """

    def __init__(self, branch: str) -> None:
        self.session: Session | None = None
        self.question: InputRequired | None = None
        self._branch = branch
        self._events: Events | None = None

    async def run(self, session: Session, message: AgentRequest) -> AsyncGenerator[AgentEvent]:
        """Yield the events up to the next question or the end.

        Args:
            session: The agent's session; a new one if the session that asked has ended.
            message: The message, or the answer to the open question.

        Raises:
            AgentFailedError: The agent failed.
            InvalidInputError: The agent does not support one of the message's files.
            ResumeError: The agent could not load the session in which it asked.
        """
        answer: AgentRequest | None = message
        if session is not self.session or self._events is None:
            await self.aclose()
            if self.question is not None:
                kept = self.question.metadata
                message = replace(message, resuming=True, resume_metadata=kept)
            self.session, self._events, answer = session, _events(session, message), None
            if session.is_lost:
                yield Progress(_LOST)
            if self._branch:
                yield TaskMetadata({"branch": self._branch})
        self.question = None
        with suppress(StopAsyncIteration):
            while True:
                event = await self._events.asend(answer)
                if isinstance(event, InputRequired):
                    self.question = event
                    return
                answer = None
                yield event

    async def aclose(self) -> None:
        """Stop reading the agent's events."""
        if self._events is not None:
            await self._events.aclose()


def _events(session: Session, message: AgentRequest) -> Events:
    """Return the events after a message, or after the answer to an earlier process's question.

    Raises:
        InvalidInputError: The agent does not support one of the message's files.
        ResumeError: The agent could not load the session in which it asked.
    """
    if not message.resuming:
        return _answered(session, message, prompt_of(message, session.prompt_capabilities), set())
    if (given := read_stored_answer(message)) is None:
        return _asked_again(message)
    if not session.has_history:
        raise ResumeError(_CANNOT_CONTINUE)
    text, granted = given
    return _answered(session, message, [TextContentBlock(type="text", text=text)], granted)


async def _asked_again(request: AgentRequest) -> Events:
    yield repeated(request)


async def _answered(
    session: Session, request: AgentRequest, prompt: Sequence[Block], granted: set[str]
) -> Events:
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
                        answer = yield asking.event
                        assert answer is not None  # noqa: S101 - `run` sends it
                        asking.give(answer)
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
