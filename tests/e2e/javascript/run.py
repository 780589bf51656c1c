"""Drive agents by JavaScript clients: of A2A, both generations, and of MCP; needs node and npm."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))

from tests.processes import serving  # noqa: E402 - found only now


def main() -> None:
    folder = ROOT / ".demo" / "javascript"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "check.mjs", "mcp.mjs"):
        shutil.copy(HERE / name, folder)
    subprocess.run(["npm", "install", "--silent", "--no-audit"], cwd=folder, check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # These clients take an address for gRPC with a scheme for the name of a host.
    grpc = ["--grpc-port", str(port), "--grpc-url", f"127.0.0.1:{port}"]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    with serving("agent:echo", environment, *grpc) as url:
        for generation in ("1.0", "0.3"):
            for binding in ("JSONRPC", "HTTP+JSON", "GRPC"):
                command = ["node", "check.mjs", generation, binding, url]
                subprocess.run(command, cwd=folder, check=True, timeout=60)
                print(f"A2A {generation} over {binding}: as it should be")
    use_tools(folder, environment)


def use_tools(folder: Path, environment: dict[str, str]) -> None:
    """Use agents as tools, at their own port and over stdio."""
    targets = ["book=tools:book", "wait=tools:wait"]
    with serving("echo=tools:echo", environment, *targets, "--dialect", "mcp") as url:
        server = f"{url.partition('/agents/')[0]}/mcp"
        command = ["node", "mcp.mjs", "http", server]
        subprocess.run(command, cwd=folder, check=True, timeout=60)
        print("MCP over HTTP: as it should be")
    program = [sys.executable, "-m", "a2a_adapters", "mcp", "echo=tools:echo", *targets]
    command = ["node", "mcp.mjs", "stdio", *program]
    subprocess.run(command, cwd=folder, env=environment, check=True, timeout=60)
    print("MCP over stdio: as it should be")


if __name__ == "__main__":
    main()
