"""Concurrent callers with the same context ids, who tolerate a busy machine."""

from __future__ import annotations

import asyncio
import re

from a2a.client.errors import A2AClientError

from a2a_adapters import ServerOptions, build_app, testing
from a2a_adapters.testing import answer_of, connect, running, user_message
from tests.support.processes import PATIENCE

CALLERS, TURNS = 8, 3


def listening(support, repeat, **options):
    """Return an agent that repeats the conversation with its tool `repeat`."""

    def model(messages):
        if done := support.results(messages):
            return next(iter(done.values()))
        said = " ".join(support.said(messages))
        return support.calling("repeat", f"r{len(messages)}", words=said)

    return support.made(support.Fake(model), tools=[repeat], **options)


async def check_repeating(storage, target, *, questions):
    """Assert that each caller hears its own name and words, after this number of questions."""

    async def talk(caller):
        words = [f"{caller}.{turn}" for turn in range(TURNS)]
        asked = 0
        async with connect(url, user=caller) as client:
            for word in words:
                task = await send(client, user_message(word, context_id="shared"))
                if task.status.message.parts:
                    asked += 1
                    task = await send(client, user_message("yes", task_id=task.id))
        return asked, answer_of(task), f"{caller}: {' '.join(words)}"

    async with running(build_app(target, options=ServerOptions(storage=storage))) as url:
        talks = await asyncio.gather(*(talk(f"caller{n}") for n in range(CALLERS)))
    assert [heard for _, heard, _ in talks] == [expected for _, _, expected in talks]
    assert {asked for asked, _, _ in talks} == {questions}


async def check_asking(storage, target):
    """Assert that each caller of a target that asks for a city hears of its own."""

    async def talk(caller):
        async with connect(url, user=caller) as client:
            for number in range(TURNS):
                task = await send(client, user_message("go", context_id="shared"))
                city = user_message(f"{caller}.{number}", task_id=task.id)
                task = await send(client, city)
        return answer_of(task)

    async with running(build_app(target, options=ServerOptions(storage=storage))) as url:
        answers = await asyncio.gather(*(talk(f"caller{n}") for n in range(CALLERS)))
    assert answers == [f"to caller{n}.{TURNS - 1}" for n in range(CALLERS)]


async def check_apart(target):
    """Assert that each answer has words of its caller, and of no other."""

    async def talk(caller):
        answers = []
        async with connect(url, user=caller) as client:
            for turn in range(TURNS):
                message = user_message(f"{caller}.{turn}", context_id="shared")
                answers.append(answer_of(await send(client, message)))
        return [set(re.findall(r"caller\d+", each)) for each in answers]

    callers = [f"caller{n}" for n in range(CALLERS)]
    async with running(build_app(target)) as url:
        heard = await asyncio.gather(*map(talk, callers))
    assert heard == [[{caller}] * TURNS for caller in callers]


async def send(client, request):
    """Send a message like `testing.send`, retrying while the storage is unavailable.

    On a busy machine, a database may take longer than a server waits for it. Repeating the message
    returns the same task.
    """
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await testing.send(client, request)
            except A2AClientError as error:
                if "503" not in str(error):
                    raise
                await asyncio.sleep(0.1)
