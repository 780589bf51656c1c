"""Drive an agent by the JavaScript clients of both generations; needs node and npm."""

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
    for name in ("package.json", "check.mjs"):
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


if __name__ == "__main__":
    main()
