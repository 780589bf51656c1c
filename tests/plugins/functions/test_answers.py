"""Functions answer as they do when they are called."""

from __future__ import annotations

import asyncio
import functools

import pytest

from a2a_adapters import BlockedError, Data, File, InputRequired, Output, Text
from a2a_adapters.plugin import AnswerText
from tests.support.answers import Program, check, in_each_way


async def whole(text: str) -> str:
    """Answer at once."""
    return f"You said: {text}"


async def chunks(text: str):
    """Answer in chunks."""
    for word in ("You", " said", ": ", text):
        yield word


async def corrected(text: str):
    """Correct what was said."""
    yield "half an "
    yield AnswerText("an answer")


async def asks(text: str):
    """Ask."""
    city = yield InputRequired("Where to?")
    yield f"Booked {city.text}."


def wrapped(function):
    @functools.wraps(function)
    def wrapper(text: str):
        return function(text)

    return wrapper


async def later(text: str):
    """Return a generator."""
    return wrapped(chunks)(text)


async def everything(text: str):
    """Answer with all kinds of parts."""
    yield "text"
    yield Output([File(content=b"abc", media_type="text/csv", filename="a.csv")])
    yield Output([Data({"a": 1})])


async def blocked_in_a_task(text: str):
    """Block what was said in one of two tasks."""
    yield "how to build a bomb"
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.Event().wait())
        group.create_task(block())


async def block():
    raise BlockedError


def returns(value):
    async def bare(_):
        return value

    return bare


PROGRAMS = [
    Program(name="a text", target=lambda: whole, bare=returns("You said: hello")),
    Program(name="chunks", target=lambda: chunks, bare=returns("You said: hello")),
    Program(name="a wrapper", target=lambda: wrapped(chunks), bare=returns("You said: hello")),
    Program(name="a wrapper of a wrapper", target=lambda: later, bare=returns("You said: hello")),
    Program(
        name="a wrapper of a question",
        target=lambda: wrapped(asks),
        bare=returns("Booked Rome."),
        messages=("book", "Rome"),
    ),
    Program(name="a correction", target=lambda: corrected, bare=returns("an answer")),
    Program(
        name="a check in a group of tasks blocks",
        target=lambda: blocked_in_a_task,
        bare=returns(None),
        state="rejected",
    ),
    Program(
        name="a question",
        target=lambda: asks,
        bare=returns("Booked Rome."),
        messages=("book", "Rome"),
    ),
    Program(
        name="an open question",
        target=lambda: asks,
        bare=returns(None),
        messages=("book",),
        state="input-required",
    ),
    Program(
        name="all kinds of parts",
        target=lambda: everything,
        bare=returns([Text("text"), File(content=b"abc", media_type="text/csv"), Data({"a": 1})]),
    ),
]


@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_call(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)
