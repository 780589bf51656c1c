"""Agents to call, served in a separate thread so that tests can call them with blocking code."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextlib import contextmanager

from a2a_adapters import Data, File, InputRequired, Output, TaskMetadata, Text
from a2a_adapters.testing import running

PNG = b"\x89PNG\r\n\x1a\n"
USAGE = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}


@contextmanager
def served(app):
    """Serve an app in the event loop of another thread, and yield its URL."""
    address, over = Future(), threading.Event()

    async def main():
        try:
            async with running(app) as url:
                address.set_result(url)
                await asyncio.to_thread(over.wait)
        except BaseException as error:
            if not address.done():
                address.set_exception(error)
            raise

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    try:
        yield address.result(60)
    finally:
        over.set()
        thread.join()


async def words(request):
    """Repeat the message word by word, and report usage."""
    for number, word in enumerate(request.text.split(" ")):
        yield word if number == 0 else f" {word}"
    yield TaskMetadata({"usage": USAGE})


class Memory:
    """Answers with the number of earlier turns and the text, and records each request."""

    def __init__(self):
        self.requests = []

    async def answer(self, request):
        self.requests.append(request)
        await asyncio.sleep(0)
        return f"{len(request.history) // 2} {request.text}"

    @property
    def texts(self):
        return [request.text for request in self.requests]

    @property
    def contexts(self):
        return {request.context_id for request in self.requests}


async def booking(request):
    """Ask for a destination and book; for a `trip` also ask for a date."""
    city = yield InputRequired("Where to?")
    day = (yield InputRequired("When?")).text if request.text == "trip" else "today"
    yield f"Booked {request.text} to {city.text}, {day}."


async def files(request):
    """Describe the received parts, and send text, an image, a URL and data."""
    received = [
        f"{part.media_type} {part.filename} {len(part.content or '') or part.url}"
        for part in request.parts
        if isinstance(part, File)
    ]
    data = [part.value for part in request.parts if isinstance(part, Data)]
    yield "; ".join([request.text, *received, *map(repr, data)])
    yield Output(
        [
            File(content=PNG, media_type="image/png", filename="dot.png"),
            File(url="https://files.example/a.pdf", media_type="application/pdf"),
            Data({"n": 1}),
        ]
    )


async def data_only(request):
    """Answer with data only."""
    yield Output([Data({"city": "Rome"}), Data([1, 2])])


async def asks_with_data(request):
    """Ask a question with data and an image, and describe the reply."""
    picture = File(content=PNG, media_type="image/png")
    answer = yield InputRequired("Which?", [Text("Which?"), Data({"choice": ["a", "b"]}), picture])
    yield f"{answer.text}{[part.value for part in answer.parts if isinstance(part, Data)]}"
