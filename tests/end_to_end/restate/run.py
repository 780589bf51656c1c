"""Follow docs/restate.md with a real Restate, and kill both sides; needs node and npm."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))

import httpx  # noqa: E402 - as below

from a2a_adapters import RemoteAgent  # noqa: E402
from tests.support.processes import UV, launched  # noqa: E402 - found only now
from tests.support.warm import warm  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = ROOT / ".demo" / "restate"
SERVER = FOLDER / "node_modules" / ".bin" / "restate-server"
WITH = ["--with", "restate-sdk==1.3.0", "--with", "hypercorn==0.18.0"]


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@contextmanager
def running(*command: str, **environment: str) -> Iterator[None]:
    """Run a command, and kill it and its children."""
    process = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield
    finally:
        os.killpg(process.pid, 9)
        process.wait()


@contextmanager
def restate(work: Path) -> Iterator[tuple[str, str]]:
    """Run Restate; yield the addresses of its ingress and of its administration."""
    node, ingress, admin = (f"127.0.0.1:{free_port()}" for _ in range(3))
    addresses = {
        "RESTATE_BIND_ADDRESS": node,
        "RESTATE_INGRESS__BIND_ADDRESS": ingress,
        "RESTATE_ADMIN__BIND_ADDRESS": admin,
    }
    with running(str(SERVER), RESTATE_BASE_DIR=str(work / "restate"), **addresses):
        wait_for(f"http://{admin}/health")
        yield f"http://{ingress}", f"http://{admin}"


def wait_for(url: str) -> None:
    """Wait until a server answers."""
    while True:
        try:
            httpx.get(url).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.1)
        else:
            return


def write(work: Path) -> None:
    """Write the files of the page."""
    page = (ROOT / "docs" / "restate.md").read_text()
    for name, body in re.findall(r'(?ms)^```python title="(.*?)"\n(.*?)^```$', page):
        (work / name).write_text(body)


class Both:
    """The agent and the workflow of the page."""

    def __init__(self, ingress: str, admin: str) -> None:
        self._ingress = ingress
        self._admin = admin
        self._address = f"127.0.0.1:{free_port()}"

    @contextmanager
    def running(self, *, registers: bool = False) -> Iterator[str]:
        """Run both, and kill them at the end; yield the agent's URL."""
        with ExitStack() as stack:
            served = ["hypercorn", "journeys:app", "--bind", self._address]
            uv = [str(UV), "run", "--quiet", "--no-project", *WITH, "python", "-m"]
            stack.enter_context(running(*uv, *served))
            wait_for(f"http://{self._address}/health")
            if registers:
                uri = {"uri": f"http://{self._address}"}
                answer = httpx.post(f"{self._admin}/deployments", json=uri, timeout=60)
                answer.raise_for_status()
            command = ["serve", "travel:agent", "--port", "0", "--storage", "sqlite:///agents.db"]
            environment = {**os.environ, "RESTATE": self._ingress}
            process, url = stack.enter_context(
                launched(warm("-m", "a2a_adapters", *command), environment)
            )
            yield url
            process.kill()


async def use(both: Both) -> None:
    with both.running(registers=True) as url:
        task = await RemoteAgent(url).start("A holiday, please.")
        asked = await task.result()
    assert asked.question == "Where to?", asked
    print("asked, and killed while it waits")
    with both.running() as url:
        await RemoteAgent(url).task(task.id).answer("Paris")
    print("answered, and killed while it works")
    with both.running() as url:
        reply = await RemoteAgent(url).task(task.id).result()
    assert reply.text == "A holiday, please. You stay at Hotel Paris.", reply
    print(reply.text)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "package.json", FOLDER)
    subprocess.run(["npm", "install", "--silent", "--no-audit"], cwd=FOLDER, check=True)
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        write(Path(name))
        with restate(Path(name)) as (ingress, admin):
            asyncio.run(use(Both(ingress, admin)))


if __name__ == "__main__":
    main()
