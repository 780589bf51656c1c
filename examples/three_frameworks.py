"""A LangGraph orchestrator, an AutoGen team and a crew in three processes, connected by A2A.

    pip install 'a2a-adapters[autogen,crewai,langchain]' 'autogen-ext<0.8'
    python examples/three_frameworks.py

    you  ->  desk (LangGraph)  ->  office (AutoGen)  ->  guide (CrewAI)

The desk passes your request on; the office asks the guide about the sights, and then asks who will
travel. The question reaches you through the desk, and your answer goes the same way back. The
answer is streamed through all of them. No network is needed: rules stand in for language models.
The three are in the folder `three_frameworks`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from a2a_adapters import AgentReply, RemoteAgent, TextDelta

FOLDER = Path(__file__).with_suffix("")


def main() -> None:
    with (
        serving("guide:crew") as guide,
        serving("office:team", GUIDE_URL=guide) as office,
        serving("desk:graph", OFFICE_URL=office) as desk,
    ):
        asyncio.run(talk(desk))


async def talk(url: str) -> None:
    """Talk to the desk as the traveller."""
    async with RemoteAgent(url) as desk:
        conversation = desk.conversation()
        question = await conversation.send("I want to see Rome")
        print(f"desk: {question.text}")
        assert question.is_question
        assert question.text.endswith("For whom?")

        pieces = []
        async for event in conversation.stream("Ann"):
            match event:
                case TextDelta(text=text):
                    pieces.append(text)
                case AgentReply():
                    answer = event
    print(f"desk: {answer.text}")
    assert answer.task_id == question.task_id, "the answer belongs to the same task"
    assert answer.text == "clerk: Booked Rome for Ann. Do not miss the Colosseum."
    assert len(pieces) > 3, "it is streamed, word by word"


@contextlib.contextmanager
def serving(target: str, **environment: str) -> Iterator[str]:
    """Serve one of the three in a separate process and yield its address."""
    command = [sys.executable, "-m", "a2a_adapters", "serve", target, "--port", "0"]
    server = subprocess.Popen(  # noqa: S603
        command,
        cwd=FOLDER,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield address_of(server)
    finally:
        server.terminate()
        server.communicate(timeout=20)


def address_of(server: subprocess.Popen[str]) -> str:
    assert server.stderr is not None
    seen = []
    for line in server.stderr:
        seen.append(line)
        if found := re.search(r"A2A agent at (http://\S+)/,", line):
            return found[1]
    raise RuntimeError("a server did not start: " + "".join(seen))


if __name__ == "__main__":
    main()
