"""A client starts ten tasks at two servers and is killed; another one gets all results once.

    pip install a2a-adapters
    python examples/long_running.py

One server is of this package, the other one of a2a-sdk. It needs no network and no model, and fails
if a result is lost or a task is done twice.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette

from a2a_adapters import RemoteAgent, build_app

if TYPE_CHECKING:
    from a2a.server.events import EventQueue

SECONDS = 3.0
"""How long each task takes: longer than the first client lives."""


class Researcher(AgentExecutor):
    """An agent on a2a-sdk."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Do a task."""
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        await updater.add_artifact(
            [new_text_part(await work(context.get_user_input(), self._journal))]
        )
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Refuse, as this agent cannot stop."""
        raise NotImplementedError


async def work(text: str, journal: Path) -> str:
    """Take some time, and note the work in the journal."""
    with journal.open("a") as file:
        file.write(f"{text}\n")
    await asyncio.sleep(SECONDS)
    return f"Found out: {text}"


def sdk_app(url: str, journal: Path) -> Starlette:
    """Return the agent on a2a-sdk's server."""
    card = AgentCard(
        name="Researcher",
        description="Finds things out.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="find", name="Find", description="Finds out.", tags=["find"])],
    )
    handler = DefaultRequestHandler(Researcher(journal), InMemoryTaskStore(), card)
    return Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")])


async def serve_both(journal: Path) -> None:
    """Serve both agents on free ports, and print their URLs."""

    async def research(text: str) -> str:
        return await work(text, journal)

    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    urls = [f"http://127.0.0.1:{listener.getsockname()[1]}" for listener in listeners]
    apps = [build_app(research), sdk_app(urls[1], journal)]
    servers = [uvicorn.Server(uvicorn.Config(app, log_level="warning")) for app in apps]
    print(*urls, flush=True)
    async with asyncio.TaskGroup() as group:
        for server, listener in zip(servers, listeners, strict=True):
            group.create_task(server.serve([listener]))


def start(notes: Path, urls: list[str]) -> None:
    """Start ten tasks, note their ids, and die."""
    agents = [RemoteAgent(url) for url in urls]
    with notes.open("w") as file:
        for number in range(10):
            agent = agents[number % len(agents)]
            task = agent.start_sync(f"topic {number}")
            file.write(f"{agent.name} {task.id}\n")
    os.kill(os.getpid(), signal.SIGKILL)


def fetch(notes: Path) -> None:
    """Get the results of the noted tasks, and print them."""
    for line in notes.read_text().splitlines():
        url, task_id = line.split()
        print(RemoteAgent(url).task(task_id).result_sync(timeout=60).text, flush=True)


def run(*arguments: object) -> subprocess.Popen[str]:
    """Start this script in another role."""
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603


def main(others: list[str]) -> None:
    """Play all roles; `others` are more agents that answer `Found out: ` and the message."""
    with TemporaryDirectory() as folder:
        notes, journal = Path(folder, "notes"), Path(folder, "journal")
        servers = run("serve", journal)
        try:
            urls = [*servers.stdout.readline().split(), *others]
            first = run("start", notes, *urls)
            assert first.wait() == -signal.SIGKILL
            found, _ = run("fetch", notes).communicate()
        finally:
            servers.terminate()
            servers.wait()
        print(found, end="")
        expected = [f"topic {number}" for number in range(10)]
        assert found.splitlines() == [f"Found out: {topic}" for topic in expected]
        done = journal.read_text().splitlines()
        assert len(done) == len(set(done)), "a task was done twice"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", journal]:
            with suppress(KeyboardInterrupt):
                asyncio.run(serve_both(Path(journal)))
        case ["start", notes, *urls]:
            start(Path(notes), urls)
        case ["fetch", notes]:
            fetch(Path(notes))
        case others:
            main(others)
