"""Reruns generators after a restart, with the replies they received before."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TypeAlias

from a2a_adapters import AgentEvent, AgentRequest, InputRequired, Text
from a2a_adapters.plugin import Exchange, ResumeError

Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]


async def rerun(run: Callable[[AgentRequest], Events], request: AgentRequest) -> Events:
    """Run a generator from its first message, and continue after its earlier replies.

    Its events up to there are dropped, because the caller already has them.

    Raises:
        ResumeError: The generator asks other questions than before.
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
    """Yield a generator's events, with durable questions, and send it the replies.

    Args:
        events: The generator.
        earlier: The earlier exchanges, whose events are dropped.
        answers: The replies of the earlier exchanges.

    Raises:
        ResumeError: The generator asks other questions than before.
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
                    raise _other_question()
                answer = answers[asked]
                asked += 1
    except StopAsyncIteration:
        if asked < len(earlier):
            raise _other_question() from None
    finally:
        await events.aclose()


def _other_question() -> ResumeError:
    return ResumeError(
        "The agent was restarted and no longer asks the same question; please start a new task."
    )


def _texts(question: InputRequired) -> list[str]:
    parts = [part.text for part in question.parts if isinstance(part, Text)]
    return [question.prompt, *parts] if question.prompt else parts
