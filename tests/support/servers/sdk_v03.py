"""An agent on a2a-sdk 0.3, run by a separate interpreter: `sdk_v03.py`.

Prints its URL on stderr once it listens. It streams `pong: TEXT` as chunks of one artifact;
the text `book` is answered with the question `Which city?`, and that with `Booked: TEXT`; `fail`
fails.
"""

from __future__ import annotations

import asyncio
import socket
import sys

import uvicorn
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.apps import A2AStarletteApplication
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TextPart
from a2a.utils import new_task


class Pong(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = context.current_task or new_task(context.message)
        if context.current_task is None:
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        said = context.get_user_input()
        if context.current_task is not None:
            await updater.add_artifact(text(f"Booked: {said}"))
            await updater.complete()
        elif said == "book":
            question = updater.new_agent_message(text("Which city?"))
            await updater.requires_input(question, final=True)
        elif said == "fail":
            await updater.failed(updater.new_agent_message(text("Out of paper.")))
        else:
            await self._pong(updater, ["pong", ": ", said])

    async def _pong(self, updater: TaskUpdater, pieces: list[str]) -> None:
        await updater.start_work()
        for index, piece in enumerate(pieces):
            last = index == len(pieces) - 1
            await updater.add_artifact(text(piece), "answer", append=index > 0, last_chunk=last)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def text(said: str) -> list[Part]:
    return [Part(root=TextPart(text=said))]


def card(url: str) -> AgentCard:
    return AgentCard(
        name="Old pong",
        description="Answers ping with pong, on a2a-sdk 0.3.",
        version="1.0.0",
        url=url,
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="pong", name="Pong", description="Says pong.", tags=["ping"])],
    )


async def main() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    handler = DefaultRequestHandler(Pong(), InMemoryTaskStore())
    app = A2AStarletteApplication(card(f"{url}/"), handler).build()
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    sys.stderr.write(f"A2A agent at {url}/, on a2a-sdk 0.3\n")
    sys.stderr.flush()
    await server.serve(sockets=[listening])


if __name__ == "__main__":
    asyncio.run(main())
