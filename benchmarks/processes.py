"""Server processes, and environments for peers that cannot be installed with this package."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
DATA = HERE.parent / ".demo"
PEERS = {
    "a2a-adapter": ("a2a_adapter", "a2a-adapter==0.2.14"),
    "fasta2a": ("fasta2a", "fasta2a>=2.1"),
    "litellm": ("litellm_proxy_extras", "litellm[proxy]>=1.97"),
}
FRAMEWORKS = {
    "autogen": ("autogen_agentchat", HERE.parent / ".venv" / "bin" / "python"),
    "every API": ("ag_ui", HERE.parent / ".venv" / "bin" / "python"),
    "grpc": ("grpc", HERE.parent / ".venv" / "bin" / "python"),
    "sdk-grpc": ("grpc", HERE.parent / ".venv" / "bin" / "python"),
    "front ends": ("ag_ui", HERE.parent / ".venv" / "bin" / "python"),
    "pydantic-ai": ("pydantic_ai", HERE.parent / ".venv" / "bin" / "python"),
    "pydantic-ai's": ("pydantic_ai", HERE.parent / ".venv" / "bin" / "python"),
    "tools": ("mcp", HERE.parent / ".venv" / "bin" / "python"),
    "crews": ("crewai", HERE.parent / ".venv-crewai" / "bin" / "python"),
}
"""Frameworks with pinned dependencies, and the environments in which `make test` installs them."""
SAME = ["a2a-sdk", "httptools", "pydantic", "starlette", "uvicorn", "uvloop"]
START_SECONDS = 60
STOP_SECONDS = 10


@dataclass(frozen=True)
class Process:
    """A running server."""

    popen: subprocess.Popen[bytes]
    port: int

    def rss(self) -> int:
        """Return its memory usage in bytes."""
        pages = int(Path(f"/proc/{self.popen.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def processor_seconds(self) -> float:
        """Return its CPU time in seconds, with that of its children."""
        pids = [str(self.popen.pid)]
        for pid in pids:
            pids += Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum(map(_ticks, pids)) / os.sysconf("SC_CLK_TCK")


def _ticks(pid: str) -> int:
    """Return the CPU time of a process in clock ticks."""
    # The name, which is in brackets, may hold spaces; utime and stime are 14th and 15th.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13]))


@contextlib.contextmanager
def start(name: str, agent: str, **environment: str) -> Iterator[Process]:
    """Run a server until the block ends."""
    port = free_port()
    DATA.mkdir(parents=True, exist_ok=True)
    command = [interpreter(name), str(HERE / "servers.py"), name, agent, str(port)]
    with (DATA / f"bench-{name}-{agent}.log").open("wb") as log:
        popen = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | environment)
    try:
        wait(popen, port, log.name)
        yield Process(popen, port)
    finally:
        popen.terminate()
        try:
            popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait()


def wait(popen: subprocess.Popen[bytes], port: int, log: str) -> None:
    """Wait until a server accepts connections."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and popen.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.05)
    raise RuntimeError(f"a server did not start, see {log}")


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def python(*arguments: str | Path, executable: str = sys.executable) -> str:
    """Return the output of a script."""
    command = [executable, *arguments]
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout


@cache
def interpreter(name: str) -> str:
    """Return the Python that has the server's package, "" if it cannot be installed.

    A peer that is not in our environment gets a separate one, because it may need other versions;
    packages in both have the same version.
    """
    if name in FRAMEWORKS:
        module, installed = FRAMEWORKS[name]
        if find_spec(module):
            return sys.executable
        return str(installed) if installed.exists() and _has(installed, module) else ""
    module, requirement = PEERS.get(name, ("", ""))
    if not module or find_spec(module):
        return sys.executable
    folder = DATA / f"bench-{name}"
    python = folder / "bin" / "python"
    if python.exists() and _has(python, module):
        return str(python)
    print(f"installing {requirement} into {folder}", file=sys.stderr)
    pins = [f"{package}=={version(package)}" for package in SAME]
    try:
        install(folder, python, [requirement, *pins])
    except subprocess.CalledProcessError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return ""
    return str(python)


def installed_version(name: str) -> str:
    """Return the version of a peer's package in the environment where it is installed."""
    code = f"from importlib.metadata import version; print(version({name!r}))"
    command = [interpreter(name), "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _has(python: Path, module: str) -> bool:
    command = [python, "-c", f"import {module}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def install(folder: Path, python: Path, requirements: list[str]) -> None:
    """Make an environment with packages."""
    uv = shutil.which("uv") or shutil.which("uv", path=Path(sys.executable).parent)
    if uv:
        subprocess.run([uv, "venv", "-q", "--clear", "-p", sys.executable, folder], check=True)
        install = [uv, "pip", "install", "-q", "-p", python]
    else:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = [python, "-m", "pip", "install", "-q"]
    subprocess.run([*install, *requirements], check=True)
