"""A real local OmniRoute gateway from its npm package."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

HERE = Path(__file__).parent
PACKAGE = "omniroute@3.7.9"
BINARY = Path("node_modules/better-sqlite3/build/Release/better_sqlite3.node")
PATIENCE = 300.0
"""Time limit for starting, in seconds."""


def installed(folder: Path) -> Path:
    """Return the folder of the gateway's program, installing it if necessary.

    Installs only the package itself, which bundles its dependencies except the database driver.
    """
    app = folder / "package" / "app"
    if (app / BINARY).exists():
        return app
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "package.json", folder)
    subprocess.run(["npm", "install", "--silent", "--no-audit"], cwd=folder, check=True)
    subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True)
    with tarfile.open(next(folder.glob("*.tgz"))) as package:
        package.extractall(folder, filter="data")
    (app / BINARY).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / BINARY, app / BINARY)
    return app


@contextmanager
def gateway(app: Path, data: Path) -> Iterator[str]:
    """Run the gateway with an empty database and yield its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    url = f"http://127.0.0.1:{port}"
    ports = dict.fromkeys(("PORT", "OMNIROUTE_PORT", "DASHBOARD_PORT", "API_PORT"), port)
    own = {
        "OMNIROUTE_BASE_URL": url,
        "HOME": str(data),
        "DATA_DIR": str(data),
        "HOSTNAME": "127.0.0.1",
    }
    mode = {"NODE_ENV": "production", "OMNIROUTE_ALLOW_PRIVATE_PROVIDER_URLS": "true"}
    command = ["node", "--require", HERE / "old-node.cjs", "server.js"]
    with (data / "log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=app, env={**os.environ, **ports, **own, **mode}, stdout=log, stderr=log
        )
        try:
            wait_for(process, url)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(30)
            finally:
                process.kill()
                process.wait()


def wait_for(process: subprocess.Popen[bytes], url: str) -> None:
    """Wait until the gateway serves its card."""
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        try:
            if httpx.get(f"{url}/.well-known/agent.json", timeout=PATIENCE).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError("the gateway did not start; see its log")


def configure(url: str, provider: str, key: str) -> str:
    """Configure a provider's models as `local/...`, and enable A2A.

    Returns:
        A key for its clients.
    """
    with httpx.Client(base_url=f"{url}/api", timeout=PATIENCE) as http:
        http.patch("/settings", json={"a2aEnabled": True}).raise_for_status()
        kind = {"type": "openai-compatible", "apiType": "chat"}
        node = {"name": "local", "prefix": "local", "baseUrl": f"{provider}/v1", **kind}
        made = http.post("/provider-nodes", json=node).raise_for_status().json()["node"]
        connection = {"provider": made["id"], "name": "local", "apiKey": key}
        http.post("/providers", json=connection).raise_for_status()
        return str(http.post("/keys", json={"name": "router"}).raise_for_status().json()["key"])
