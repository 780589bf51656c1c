"""Generators that are run again after a restart, with the answers they got before."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TypeAlias

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    Exchange,
    InputRequired,
    ResumeError,
    Text,
)

Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]


async def run_again(run: Callable[[AgentRequest], Events], request: AgentRequest) -> Events:
    """Run a generator from its first message on, and go on after what it was answered before.

    What it told on that way is dropped: its caller has it.

    Raises:
        ResumeError: It asks something else than it did.
    """
    earlier = await request.earlier()
    messages = [*(exchange.request for exchange in earlier), request]
    events = asking(run(messages[0]), earlier, messages[1:])
    answer: AgentRequest | None = None
    async with aclosing(events):
        try:
            while True:
                answer = yield await events.asend(answer)
        except StopAsyncIteration:
            return


async def asking(
    events: Events, earlier: Sequence[Exchange] = (), answers: Sequence[AgentRequest] = ()
) -> Events:
    """Yield a generator's events with durable questions, and hand it the answers.

    Raises:
        ResumeError: It asks something else than it did earlier.
    """
    answer: AgentRequest | None = None
    asked = 0
    try:
        while True:
            event = await events.asend(answer)
            answer = None
            if asked == len(earlier):
                if isinstance(event, InputRequired):
                    event = replace(event, durable=True, waits=True)
                answer = yield event
            elif isinstance(event, InputRequired):
                if _texts(event) != _texts(earlier[asked].question):
                    raise _otherwise()
                answer = answers[asked]
                asked += 1
    except StopAsyncIteration:
        if asked < len(earlier):
            raise _otherwise() from None
    finally:
        await events.aclose()


def _otherwise() -> ResumeError:
    return ResumeError(
        "The agent was restarted and does not ask what it asked before; please start a new task."
    )


def _texts(question: InputRequired) -> list[str]:
    parts = [part.text for part in question.parts if isinstance(part, Text)]
    return [question.prompt, *parts] if question.prompt else parts
