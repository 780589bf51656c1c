"""Counts the files that a message passes through, and the returns to a file.

`python benchmarks/way.py` prints a table. A visit is a call into another file of this project than
the last one; a return is a visit to a file that was visited before. Nothing is timed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Self, TypedDict
from uuid import uuid4

import httpx
from a2a_adapters_langchain import A2AChatModel
from langgraph.graph import START, StateGraph

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running

ROOT = Path(__file__).parents[1]
OURS = (str(ROOT / "a2a_adapters"), str(ROOT / "plugins"))


class Way:
    """Records the visited files while it is entered."""

    def __init__(self) -> None:
        self.visits: list[str] = []

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_error: object) -> None:
        sys.setprofile(None)

    @property
    def files(self) -> int:
        """Number of files passed."""
        return len(set(self.visits))

    @property
    def returns(self) -> int:
        """Number of visits to a file visited before."""
        return len(self.visits) - self.files

    def _note(self, frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(OURS) and self.visits[-1:] != [name]:
            self.visits.append(name)


def shout(text: str) -> str:
    """Shout the text."""
    return text.upper()


async def spell(_text: str):
    """Answer in two chunks."""
    yield "one "
    yield "two"


class State(TypedDict):
    """State of the graph."""

    text: str


def graph() -> object:
    """Return a graph of one node."""
    builder = StateGraph(State)
    builder.add_node("shout", lambda state: {"text": state["text"].upper()})
    builder.add_edge(START, "shout")
    return builder.compile()


def body(method: str) -> dict[str, object]:
    """Return a call with a one-word message."""
    message = {"messageId": uuid4().hex, "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}


async def posted(target: object, method: str) -> Way:
    """Post a message to a target served in this process."""
    app = build_app(target)
    transport = httpx.ASGITransport(app)
    headers = {"A2A-Version": "1.0"}
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:

        async def post() -> None:
            answer = await client.post("/", json=body(method), headers=headers)
            assert answer.status_code == 200, answer.text
            assert "error" not in answer.text, answer.text

        return await measured(post)


async def called() -> Way:
    """Call an agent with the chat model; its server runs in this process, but is not counted."""
    async with running(build_app(shout)) as url:
        model = A2AChatModel(agent=RemoteAgent(url))
        global OURS  # noqa: PLW0603 - only what a client passes
        plugin = ROOT / "plugins/langchain/a2a_adapters_langchain"
        before, OURS = OURS, (str(ROOT / "a2a_adapters/calling"), str(plugin / "calling"))
        try:
            return await measured(lambda: model.ainvoke("hello"))
        finally:
            OURS = before


async def measured(work: Callable[[], Awaitable[object]]) -> Way:
    """Run once to warm up, and then again while counting."""
    await work()
    with Way() as way:
        await work()
    return way


async def main() -> None:
    """Print the table."""
    rows = {
        "`SendMessage` to a function": await posted(shout, "SendMessage"),
        "`SendMessage` to a graph": await posted(graph(), "SendMessage"),
        "a stream of two chunks": await posted(spell, "SendStreamingMessage"),
        "`A2AChatModel.ainvoke`": await called(),
    }
    print("| way | files | visits | returns |\n|---|---|---|---|")
    for name, way in rows.items():
        print(f"| {name} | {way.files} | {len(way.visits)} | {way.returns} |")


if __name__ == "__main__":
    asyncio.run(main())
