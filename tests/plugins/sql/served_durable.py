"""A durable function in a process that tests kill."""

from __future__ import annotations

import sys
from pathlib import Path

from a2a_adapters_functions import adapt

from a2a_adapters import AgentRequest, InputRequired, ServerOptions, serve

STORAGE, WORK = sys.argv[1], Path(sys.argv[2])


def note(text):
    with (WORK / "log").open("a") as file:
        file.write(f"{text}\n")


def described(request):
    """Return the history passed with a message."""
    return [turn.text for turn in request.history]


async def book(request: AgentRequest):
    """Book a journey."""
    note(f"begun {request.text} {request.metadata} {described(request)}")
    yield "Well, "
    city = yield InputRequired("Where to?")
    note(f"city {city.text} {described(city)}")
    yield "nice. "
    question = "When?" if (WORK / "changed").exists() else f"When to {city.text}?"
    day = yield InputRequired(question)
    note(f"day {day.text}")
    yield f"{request.text}: {city.text} on {day.text}"


def by_thread(text: str):
    """The same, blocking."""
    city = yield InputRequired("Where to?")
    day = yield InputRequired("When?")
    yield f"{text}: {city.text} on {day.text}"


if __name__ == "__main__":
    target = {"book": adapt(book, durable=True), "by-thread": adapt(by_thread, durable=True)}
    serve(target, port=0, options=ServerOptions(storage=STORAGE))
