"""Check servers of other projects: `run.py [PAGE]` writes what the checks say to PAGE.

Each server is installed in an environment of its own; the JavaScript SDK needs node and npm.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))

from a2a_adapters_check import Finding, Report, Severity, check  # noqa: E402 - found only now

FOLDER = ROOT / ".demo" / "other-servers"
UV = ROOT / ".venv" / "bin" / "uv"
JAVASCRIPT = ROOT / "tests" / "end_to_end" / "javascript" / "slow.mjs"
PEERS = ROOT / "benchmarks" / "peer_agents.py"
GRAPH = HERE / "langgraph"
START_SECONDS = 300


@dataclass(frozen=True)
class Server:
    """A server of another project.

    Attributes:
        title: Its name on the page.
        packages: What is installed, the server itself first.
        program: The program's arguments; `{port}` is the port.
        path: The path of the agent.
    """

    title: str
    packages: tuple[str, ...]
    program: tuple[str, ...]
    path: str = ""


def own(name: str) -> tuple[str, ...]:
    return str(HERE / "servers.py"), name, "{port}"


SERVERS = (
    Server("a2a-sdk", ("a2a-sdk[http-server,grpc]==1.3.0", "uvicorn"), own("sdk")),
    Server("a2a-sdk", ("a2a-sdk[http-server]==0.3.26", "uvicorn"), own("old_sdk")),
    Server("a2a-sdk over REST", ("a2a-sdk[http-server]==0.3.26", "uvicorn"), own("old_sdk_rest")),
    Server("JavaScript SDK", ("@a2a-js/sdk@1.3.0", "express@^5.1.0"), (str(JAVASCRIPT),)),
    Server(
        "fasta2a, the server of Pydantic AI",
        ("fasta2a==2.1.1", "pydantic-ai-slim==2.68.0", "uvicorn"),
        (str(PEERS), "pydantic-ai", "{port}"),
    ),
    Server("Google ADK", ("google-adk[a2a]==2.13.0",), (str(PEERS), "google-adk", "{port}")),
    Server(
        "Agent Framework",
        (
            "agent-framework-a2a==1.0.0b261022",
            "agent-framework-core==1.23.0",
            "a2a-sdk[http-server]==1.3.0",
            "httpx==0.28.1",
            "uvicorn",
        ),
        (str(PEERS), "agent-framework", "{port}"),
    ),
    Server("Strands", ("strands-agents[a2a]==1.62.0",), (str(PEERS), "strands", "{port}")),
    Server(
        "Agno",
        (
            "agno==2.9.0",
            "a2a-sdk<1",
            "fastapi",
            "openai",
            "python-multipart",
            "sqlalchemy",
            "uvicorn",
        ),
        own("agno"),
        "/a2a/agents/words",
    ),
    Server("AG2", ("ag2[a2a]==1.2.1", "a2a-sdk[http-server]", "uvicorn"), own("ag2")),
    Server("BeeAI Framework", ("beeai-framework[a2a]==0.1.85",), own("beeai")),
    Server(
        "LangGraph",
        ("langgraph-api==0.16.7", "langgraph-cli[inmem]"),
        ("-m", "langgraph_cli", "dev", "--no-browser", "--no-reload", "--port", "{port}"),
    ),
    Server("a2akit", ("a2akit==0.0.32", "uvicorn"), own("a2akit")),
    Server("python-a2a", ("python-a2a==0.5.10",), own("python_a2a")),
    Server("a2a-adapter", ("a2a-adapter==0.2.14",), own("a2a_adapter")),
)


@dataclass
class Row:
    """What a check says about a server."""

    server: Server
    report: Report
    findings: list[Finding] = field(default_factory=list)


def main(page: Path | None) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file in GRAPH.glob("*.*"):
        shutil.copy(file, FOLDER)
    rows = []
    for server in SERVERS:
        with serving(server) as url:
            report = asyncio.run(check(url, send=True, timeout=60))
        worse = report.at_least(Severity.WARNING)
        print(f"{server.title} {version(server)}: {', '.join(f.id for f in worse) or 'sound'}")
        rows.append(Row(server, report, worse))
    if page:
        page.write_text(text_of(rows))


@contextmanager
def serving(server: Server) -> Iterator[str]:
    """Install a server, run it and yield the URL of its agent."""
    command, port = installed(server), free_port()
    words = [word.format(port=port) for word in server.program]
    log = FOLDER / "log"
    environment = {**os.environ, "FOLDER": str(FOLDER), "PYTHONPATH": ""}
    with log.open("w") as file:
        process = subprocess.Popen(
            [*command, *words], stdout=file, stderr=file, env=environment, cwd=FOLDER
        )
        try:
            if server.program == (str(JAVASCRIPT),):
                port = int(said(process, log, r"http://127\.0\.0\.1:(\d+)"))
            wait(process, port, log)
            yield f"http://127.0.0.1:{port}{server.path or path_of_graph(server, port)}"
        finally:
            process.terminate()
            process.wait()


def installed(server: Server) -> list[str]:
    """Install a server unless it is there; return the command that runs its program."""
    name = re.sub(r"\W+", "-", server.packages[0])
    folder = FOLDER / name
    if server.program == (str(JAVASCRIPT),):
        if not folder.exists():
            folder.mkdir(parents=True)
            npm = ["npm", "install", "--silent", "--no-audit", *server.packages]
            subprocess.run(npm, cwd=folder, check=True)
        shutil.copy(JAVASCRIPT, folder)
        return ["node", str(folder / JAVASCRIPT.name), "@a2a-js/sdk"]
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([UV, "venv", "--quiet", folder], check=True)
        install = [UV, "pip", "install", "--quiet", "--python", python, *server.packages]
        subprocess.run(install, check=True)
    return [str(python)]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until a server accepts connections."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    sys.exit(f"{log.read_text()}\nthe server does not start")


def said(process: subprocess.Popen[bytes], log: Path, pattern: str) -> str:
    """Wait for a line in a server's log."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(pattern, log.read_text()):
            return found[1]
        time.sleep(0.1)
    sys.exit(f"{log.read_text()}\nthe server does not say {pattern}")


def path_of_graph(server: Server, port: int) -> str:
    """Return the path of the only graph of LangGraph's server, "" for other servers."""
    if server.title != "LangGraph":
        return ""
    url = f"http://127.0.0.1:{port}/assistants/search"
    [graph] = httpx.post(url, json={}, timeout=60).raise_for_status().json()
    return f"/a2a/{graph['assistant_id']}"


def version(server: Server) -> str:
    return re.split("==|@(?=[^/]*$)", server.packages[0])[1]


INTRODUCTION = """\
# Servers of other projects

This page shows the findings of [`a2a-adapters check --send`](check.md) for {count} servers of other
projects, each with an agent as its documentation sets it up. `make other-servers` installs and
checks them, and writes this page. Errors and warnings are listed with the section of the
specification; notes are only counted. Checks that do not apply are skipped, such as those of A2A
1.0 at a server of 0.3.

| server | version | errors | warnings | notes | passed | skipped |
|---|---|---|---|---|---|---|
"""


def text_of(rows: list[Row]) -> str:
    lines = [INTRODUCTION.format(count=len(rows)).rstrip("\n")]
    for row in rows:
        counts = [
            sum(finding.severity is severity for finding in row.report.findings)
            for severity in (Severity.ERROR, Severity.WARNING, Severity.NOTE)
        ]
        others = len(row.report.passed), len(row.report.skipped)
        cells = [row.server.title, version(row.server), *counts, *others]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for row in rows:
        if row.findings:
            lines += ["", f"## {row.server.title} {version(row.server)}", ""]
            lines += ["| | check | finding | section |", "|---|---|---|---|"]
            lines += [line_of(finding) for finding in row.findings]
    return "\n".join([*lines, ""])


def line_of(finding: Finding) -> str:
    message = re.sub(r" at https?://\S+?(?=,? )", "", finding.message)
    message = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "...", message).replace("|", "/")
    return f"| {finding.severity} | `{finding.id}` | {message} | {finding.clause} |"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
