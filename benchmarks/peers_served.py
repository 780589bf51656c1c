"""Compares the A2A servers of frameworks with ours, on the same agent.

    python benchmarks/peers_served.py [--write docs/peers.md]

Needs `make test-frameworks` once, for our server; each framework's own gets an environment.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import contextmanager, suppress
from pathlib import Path

from processes import DATA, HERE, free_port, install, wait

from a2a_adapters import RemoteAgent, RemoteAgentError, RemoteOptions, TextDelta

OURS = HERE.parent / ".venv-frameworks" / "bin" / "python"
PEERS = {
    "agent-framework": [
        "agent-framework-core==1.23.0",
        "agent-framework-a2a==1.0.0b261022",
        "a2a-sdk[http-server]==1.3.0",
        "httpx==0.28.1",
    ],
    "google-adk": ["google-adk[a2a]==2.13.0"],
    "pydantic-ai": ["fasta2a==2.1.1", "pydantic-ai-slim==2.68.0"],
    "strands": ["strands-agents[a2a]==1.62.0"],
}
NAMES = {
    "agent-framework": "Agent Framework",
    "google-adk": "Google ADK",
    "pydantic-ai": "Pydantic AI",
    "strands": "Strands",
}
TEXT = "one two three four five"
INTRODUCTION = """\
# Peers

This page compares what callers see of one agent, served by its framework and served by us.
`python benchmarks/peers_served.py` makes this table: it serves an agent with a scripted model both
ways, and calls it with `RemoteAgent`. The replies to questions are plain text.

"""


async def streams(agent: RemoteAgent, _folder: Path) -> str:
    deltas = [each async for each in agent.stream("words") if isinstance(each, TextDelta)]
    return "yes" if len(deltas) > 3 else "no: in one piece"


async def says_it_once(agent: RemoteAgent, _folder: Path) -> str:
    text = (await agent.send("words")).text
    return "yes" if text == TEXT else f"no: {shown(text)}"


async def uses_tools(agent: RemoteAgent, _folder: Path) -> str:
    text = (await agent.send("look")).text
    return "yes" if text.count("It rains.") == 1 else f"no: {shown(text)}"


async def remembers(agent: RemoteAgent, _folder: Path) -> str:
    conversation = agent.conversation()
    await conversation.send("my name is Ann")
    text = (await conversation.send("recall")).text
    return "yes" if "Ann" in text else f"no: {shown(text) or 'an empty answer'}"


async def keeps_callers_apart(agent: RemoteAgent, _folder: Path) -> str:
    await agent.conversation().send("my name is Ann")
    text = (await agent.conversation().send("recall")).text
    return "no" if "Ann" in text else "yes"


async def asks(agent: RemoteAgent, _folder: Path) -> str:
    conversation = agent.conversation()
    reply = await conversation.send("book")
    if not reply.is_question:
        return f"no: {reply.state}, {shown(reply.text) or 'an empty answer'}"
    try:
        text = (await conversation.send("yes")).text
    except RemoteAgentError as error:
        return f"asks, but refuses the reply: {shown(str(error))}"
    return "yes" if "It is booked" in text else f"asks, and ends with {shown(text)}"


async def hides_errors(agent: RemoteAgent, _folder: Path) -> str:
    try:
        reply = await agent.send("fail")
    except RemoteAgentError as error:
        return "no: the text of the exception is sent" if "hunter2" in str(error) else "yes"
    return "no: the text of the exception is sent" if "hunter2" in reply.text else reply.state


async def keeps_what_is_blocked(agent: RemoteAgent, _folder: Path) -> str:
    events = [each async for each in agent.stream("bomb")]
    streamed = "".join(each.text for each in events if isinstance(each, TextDelta))
    if "bomb" in streamed:
        return "no: it is streamed"
    text = events[-1].text
    return "yes" if text == "I cannot help." else f"no: {shown(text) or 'an empty answer'}"


async def cancels(agent: RemoteAgent, folder: Path) -> str:
    task = await agent.start("wait")
    if not await asyncio.to_thread(is_made, folder / "started"):
        return "no: the model is not called"
    with suppress(RemoteAgentError):  # the model counts
        await task.cancel()
    is_stopped = await asyncio.to_thread(is_made, folder / "stopped")
    return "yes" if is_stopped else "no: the model works on"


def is_made(file: Path) -> bool:
    """Wait some seconds for a file."""
    until = time.monotonic() + 5
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.05)
    return file.exists()


GUARDED = "keeps what a guardrail replaces to itself"
CHECKS: dict[str, Callable[[RemoteAgent, Path], Awaitable[str]]] = {
    "streams token by token": streams,
    "sends each text once": says_it_once,
    "gives the answer after a tool call": uses_tools,
    "remembers the conversation": remembers,
    "keeps conversations apart": keeps_callers_apart,
    "asks for an approval, and goes on": asks,
    "keeps exceptions to itself": hides_errors,
    GUARDED: keeps_what_is_blocked,
    "stops the model when cancelled": cancels,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    target = parser.parse_args().write
    results = {}
    for peer in PEERS:
        results[NAMES[peer]] = examine(peer, interpreter(peer))
        results[f"{NAMES[peer]}, ours"] = examine(f"{peer}, ours", OURS)
    lines = [f"| | {' | '.join(results)} |", f"|---|{'---|' * len(results)}"]
    lines += [f"| {check} | {' | '.join(r[check] for r in results.values())} |" for check in CHECKS]
    table = "\n".join(lines)
    print(table)
    if target:
        versions = ", ".join(f"`{peers[0]}`" for peers in PEERS.values())
        target.write_text(f"{INTRODUCTION}{table}\n\nVersions: {versions}.\n")


def interpreter(peer: str) -> Path:
    """Return the Python that has a framework's own server."""
    folder = DATA / f"peer-{peer}"
    python = folder / "bin" / "python"
    if not python.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        install(folder, python, [*PEERS[peer], "uvicorn"])
    return python


def examine(name: str, python: Path) -> dict[str, str]:
    found = {}
    for check, run in CHECKS.items():
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(name, python, Path(folder), is_guarded=check == GUARDED) as url,
        ):
            found[check] = asyncio.run(checked(run, url, Path(folder)))
    return found


@contextmanager
def serving(name: str, python: Path, folder: Path, *, is_guarded: bool):
    """Serve the agent in a process and yield its URL."""
    port = free_port()
    log = folder / "log"
    command = [python, HERE / "peer_agents.py", name, str(port)]
    with log.open("w") as file:
        environment = os.environ | {"FOLDER": str(folder)}
        environment |= {"GUARDED": "1"} if is_guarded else {}
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
        try:
            wait(process, port, str(log))
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


async def checked(
    run: Callable[[RemoteAgent, Path], Awaitable[str]], url: str, folder: Path
) -> str:
    async with RemoteAgent(url, options=RemoteOptions(timeout=10, retries=0)) as agent:
        try:
            return await run(agent, folder)
        except RemoteAgentError as error:
            return f"no: {shown(str(error))}"


def shown(text: str) -> str:
    """Return a text for a cell of the table."""
    line = " ".join(text.split()).replace("|", "/")
    return f'"{line[:60]}..."' if len(line) > 60 else (line and f'"{line}"')


if __name__ == "__main__":
    main()
