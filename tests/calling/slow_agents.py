"""The same slow agent on several servers.

It answers with `po`, waits until its gate opens, and goes on with `ng`. The text `book` is answered
with the question `Which city?`, and that with `Booked: TEXT`; `fail` fails.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from a2a_adapters import InputRequired, RemoteAgent, ServerOptions, build_app
from a2a_adapters.testing import running
from tests.support.servers.cards import only
from tests.support.servers.sdk import Scripted, sdk_app, text

QUESTION = "Which city?"
SERVERS = ["ours", "ours over REST", "ours over 0.3", "a2a-sdk", "a2a-sdk over REST"]


class Gate:
    """Lets the agent go on, and shows that it waits."""

    def __init__(self):
        self._is_open = asyncio.Event()
        self.reached = asyncio.Event()

    async def passed(self):
        self.reached.set()
        await self._is_open.wait()

    def open(self):
        self._is_open.set()


def our_agent(gate, push=None):
    async def slow(said: str):
        if said == "fail":
            raise ValueError("out of paper")
        if said == "book":
            answer = yield InputRequired(QUESTION)
            yield f"Booked: {answer.text}"
            return
        yield "po"
        await gate.passed()
        yield "ng"

    return build_app(slow, options=ServerOptions(push=push))


def slow_executor(gate):
    async def script(context, task):
        said = context.get_user_input()
        if said == "fail":
            await task.failed(task.new_agent_message(text("Out of paper.")))
        elif said == "book":
            await task.requires_input(task.new_agent_message(text(QUESTION)))
        elif context.current_task is not None:
            await task.add_artifact(text(f"Booked: {said}"))
            await task.complete()
        else:
            await task.start_work()
            await task.add_artifact(text("po"), "answer")
            await gate.passed()
            await task.add_artifact(text("ng"), "answer", append=True, last_chunk=True)
            await task.complete()

    return Scripted(script)


@asynccontextmanager
async def slow_agent(server):
    """Yield the agent's card and its gate, which opens at the end."""
    gate = Gate()
    binding = "HTTP+JSON" if server.endswith("REST") else "JSONRPC"
    version = "0.3" if server.endswith("0.3") else "1.0"
    app = (
        our_agent(gate)
        if server.startswith("ours")
        else sdk_app(slow_executor(gate), bindings=[binding])
    )
    async with running(app) as url:
        async with RemoteAgent(url) as agent:
            card = await agent.card()
        try:
            yield only(card, binding, version), gate
        finally:
            gate.open()
