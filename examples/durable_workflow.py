"""A workflow of DBOS whose process is killed while it waits and while it works.

    pip install 'a2a-adapters[dbos,sqlite]'
    python examples/durable_workflow.py

It needs no network and no model, and fails if anything is lost or done twice.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from a2a_adapters_dbos import ask, emit
from dbos import DBOS

from a2a_adapters import RemoteAgent, serve

HOME = Path(os.environ.get("TRAVEL_HOME", "."))


def log(step: str) -> None:
    """Log that a step is running."""
    with (HOME / "journal").open("a") as file:
        file.write(f"{step}\n")


@DBOS.step()
async def search(city: str) -> str:
    """Search for a hotel."""
    log("searched")
    return f"Hotel {city}"


@DBOS.step()
async def book(hotel: str) -> None:
    """Book a hotel, which takes a while."""
    log("booking")
    while not (HOME / "confirmed").exists():  # noqa: ASYNC110 - the hotel writes it
        await asyncio.sleep(0.05)
    await emit(f"Booked: {hotel}.")


@DBOS.workflow()
async def travel(text: str) -> None:
    """Book a journey."""
    city = (await ask(f"{text} Where to?")).text
    await book(await search(city))


@contextmanager
def running(home: Path, port: int) -> Iterator[None]:
    """Run the agent in a separate process, and kill it at the end."""
    command = [sys.executable, __file__, str(port)]
    environment = {**os.environ, "TRAVEL_HOME": str(home)}
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)  # noqa: S603
    try:
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    """Return a port that is free."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


async def call(home: Path, port: int) -> None:
    """Begin a task, answer its question and get its result, each time from another process."""
    agent = RemoteAgent(f"http://127.0.0.1:{port}")
    journal = home / "journal"
    with running(home, port):
        task = await agent.start("A holiday, please.")
        question = (await task.result()).question
    print("asked:   ", question)
    with running(home, port):
        await agent.task(task.id).answer("Paris")
        while not journal.exists() or "booking" not in journal.read_text():  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    print("killed:   while it waited, and while it worked")
    (home / "confirmed").touch()
    with running(home, port):
        reply = await agent.task(task.id).result()
    print("answered:", reply.text)
    assert reply.text == "Booked: Hotel Paris."
    done = journal.read_text().split()
    assert done == ["searched", "booking", "booking"], "only the interrupted step is repeated"


def main() -> None:
    """Run the example."""
    with TemporaryDirectory() as name:
        asyncio.run(call(Path(name), free_port()))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        database = f"sqlite:///{HOME}/dbos.db"
        DBOS(config={"name": "travel", "system_database_url": database})
        serve(travel, port=int(sys.argv[1]), storage=f"sqlite:///{HOME}/agents.db")
    else:
        main()
