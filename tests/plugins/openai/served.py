"""Agents behind the OpenAI-compatible API, and the real `openai` client."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from openai import AsyncOpenAI

from a2a_adapters import (
    AuthRequired,
    Data,
    File,
    InputRequired,
    InvalidInputError,
    Output,
    Progress,
    Rejected,
    Reply,
    TaskMetadata,
    Text,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.testing import running
from tests.support.processes import PATIENCE

USAGE = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
COLOURS = {"response_schema": {"properties": {"colour": {"enum": ["red", "green"]}}}}


async def worker(request):  # noqa: C901, PLR0912 - a behaviour each
    """Follow the message's instruction."""
    text = request.text
    match text:
        case "BOOM":
            raise RuntimeError("secret")
        case "HALF":
            yield "half of "
            raise RuntimeError("secret")
        case "REJECT":
            yield Rejected("not my job")
        case "REFUSE":
            raise InvalidInputError("send something else")
        case "ASK":
            answer = yield InputRequired("Which city?")
            yield f"took {answer.text} in {request.context_id}"
        case "CHOOSE":
            yield InputRequired("Which colour?", [Data(COLOURS)])
        case "LOGIN":
            yield AuthRequired("Please sign in at https://id.example/login")
        case "TOOL":
            yield Progress("looking")
            yield ToolCall("c", "add", {"a": 2})
            yield ToolResult("c", "add", 5)
            yield "added"
        case "PARTS":
            yield "text"
            yield Output([Data({"a": 1})])
            yield Output([File(url="https://x.example/f.pdf", filename="f.pdf")])
            yield Output([File(content=b"abc", media_type="image/png", filename="a.png")])
        case "DATA":
            yield Output([Data({"a": 1})])
        case "REPLY":
            yield Reply([Text("a reply")])
        case "COUNT":
            yield "one two"
            yield TaskMetadata({"usage": USAGE})
        case "CONTEXT":
            yield request.context_id
        case "SEEN":
            files = [p for p in request.parts if isinstance(p, File)]
            yield str([(f.content, f.url, f.media_type, f.filename) for f in files])
        case "METADATA":
            yield str(sorted(request.metadata.items()))
        case _:
            for word in f"worked on {text}".split(" "):
                yield f"{word} "


class Hanging:
    """An agent that hangs after its first words, and records the ends of its runs."""

    def __init__(self):
        self.begun = asyncio.Event()
        self.ends = asyncio.Queue()

    async def answer(self, request):
        """Hang."""
        self.begun.set()
        try:
            yield "waiting"
            await asyncio.Event().wait()
        finally:
            self.ends.put_nowait(bool(request.cancelled))


@asynccontextmanager
async def serving(target=worker, **options):
    """Yield the base URL of a server."""
    app = build_app(target, dialects=["openai"], **{"name": "Worker", **options})
    async with running(app) as url:
        yield f"{url}/v1"


def client(url, key="none", **options):
    return AsyncOpenAI(base_url=url, api_key=key, max_retries=0, timeout=PATIENCE, **options)


@asynccontextmanager
async def calling(target=worker, **options):
    """Yield a client of a server."""
    async with serving(target, **options) as url, client(url) as openai:
        yield openai


def user(content):
    return {"role": "user", "content": content}


def assistant(content):
    return {"role": "assistant", "content": content}


async def say(openai, *messages, model="worker", **options):
    """Return the completion of a chat; texts are messages of the user."""
    said = [user(each) if isinstance(each, str) else each for each in messages]
    return await openai.chat.completions.create(model=model, messages=said, **options)


async def text_of(openai, *messages, **options):
    return (await say(openai, *messages, **options)).choices[0].message.content


async def chunks_of(openai, *messages, **options):
    stream = await say(openai, *messages, stream=True, **options)
    return [chunk async for chunk in stream]


def joined(chunks, name="content"):
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    return "".join(getattr(delta, name, None) or "" for delta in deltas)
