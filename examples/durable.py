"""A graph asks a question, its process is killed, and a new process takes the answer.

    pip install 'a2a-adapters[langgraph-sqlite]'
    python examples/durable.py

It needs no network and no model, and fails if anything is lost or done twice.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from a2a_adapters import RemoteAgent, RemoteOptions, serve

if TYPE_CHECKING:
    from langgraph.pregel import Pregel

Said: TypeAlias = dict[str, list[AIMessage]]

PATIENT = RemoteOptions(retries=10)
"""Waits for a server that is being started."""


def travel_agent(journal: Path) -> Pregel[MessagesState]:
    """Return a graph that looks for a flight, asks, books it, and logs its steps."""

    def search(state: MessagesState) -> Said:  # noqa: ARG001 - LangGraph passes it by its name
        with journal.open("a") as file:
            file.write("searched\n")
        return {"messages": [AIMessage("There is a flight to Rome at 9.")]}

    def book(state: MessagesState) -> Said:  # noqa: ARG001
        if interrupt("Shall I book it?") != "yes":
            return {"messages": [AIMessage("Not booked.")]}
        with journal.open("a") as file:
            file.write("booked\n")
        return {"messages": [AIMessage("Booked: Rome at 9.")]}

    builder = StateGraph(MessagesState)
    builder.add_node("search", search)
    builder.add_node("book", book)
    builder.add_edge(START, "search")
    builder.add_edge("search", "book")
    return builder.compile(name="travel")


@contextmanager
def running(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the agent in a separate process, and kill it at the end."""
    command = [sys.executable, __file__, str(folder), str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def main() -> None:
    port = free_port()
    with TemporaryDirectory() as name:
        folder = Path(name)
        conversation = RemoteAgent(f"http://127.0.0.1:{port}", options=PATIENT).conversation()
        with running(folder, port):
            question = conversation.send_sync("Find me a flight to Rome")
            assert question.is_question
            assert question.text.endswith("Shall I book it?")
            print("asked:   ", question.text.splitlines()[-1])
        print("killed:   kill -9, then a new process")
        with running(folder, port):
            answer = conversation.send_sync("yes")
        assert answer.state == "completed"
        assert answer.task_id == question.task_id
        assert answer.text.endswith("Booked: Rome at 9.")
        print("answered:", answer.text.splitlines()[-1])
        done = (folder / "journal").read_text().split()
    assert done == ["searched", "booked"], "nothing is done twice"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        home = Path(sys.argv[1])
        agent = travel_agent(home / "journal")
        serve(agent, port=int(sys.argv[2]), storage=f"sqlite:///{home}/agents.db")
    else:
        main()
