"""Test agents with JavaScript clients of A2A, MCP, OpenAI and AG-UI; needs node and npm."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.processes import serving, started  # noqa: E402 - found only now

FOLDER = ROOT / ".demo" / "javascript"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(HERE)}
MODULES = FOLDER / "node_modules"
NODE = str(MODULES / "node" / "bin" / "node")
"""A version that supports MCP's inspector and conformance suite."""
MCP = MODULES / "@modelcontextprotocol"
PROGRAM = [sys.executable, "-m", "a2a_adapters", "mcp"]
TOOLS = ("echo", "book", "wait")
TARGETS = [f"{name}={HERE / 'tools.py'}:{name}" for name in TOOLS]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "check.mjs", "mcp.mjs", "vercel.mjs", "ag_ui.mjs", "slow.mjs"):
        shutil.copy(HERE / name, FOLDER)
    subprocess.run(["npm", "install", "--silent", "--no-audit"], cwd=FOLDER, check=True)
    talk()
    come_back()
    first, *others = TARGETS
    with serving(first, ENVIRONMENT, *others, "--dialect", "mcp") as url:
        use_tools(f"{url.partition('/agents/')[0]}/mcp")
    travel = f"travel={ROOT / 'examples' / 'open_webui' / 'agents.py'}:travel"
    broken = f"broken={HERE / 'tools.py'}:broken"
    with serving(travel, ENVIRONMENT, broken, "--dialect", "openai") as url:
        for api in ("chat", "responses"):
            run("vercel.mjs", api, f"{url.partition('/agents/')[0]}/v1", node=NODE)
            print(f"Vercel's AI SDK over {api}: as it should be")
    worker = f"worker={ROOT / 'tests' / 'plugins' / 'ag_ui' / 'served.py'}:worker"
    with serving(worker, ENVIRONMENT, "--dialect", "ag-ui") as url:
        for client in ("ag-ui-1", "ag-ui-0"):
            run("ag_ui.mjs", client, f"{url.partition('/agents/')[0].rstrip('/')}/ag-ui")
            print(f"{client}: OK")
    conform()


def run(*command: str, node: str = "node") -> str:
    """Run a JavaScript program; return its output."""
    ended = subprocess.run(
        [node, *command],
        cwd=FOLDER,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=300,
    )
    if ended.returncode:
        sys.exit(f"{ended.stdout}\n{' '.join(command)} failed")
    return ended.stdout


def talk() -> None:
    """Call an agent over A2A."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # These clients treat a gRPC URL with a scheme as a host name.
    grpc = ["--grpc-port", str(port), "--grpc-url", f"127.0.0.1:{port}"]
    with serving("agent:echo", ENVIRONMENT, *grpc) as url:
        for generation in ("1.0", "0.3"):
            for binding in ("JSONRPC", "HTTP+JSON", "GRPC"):
                run("check.mjs", generation, binding, url)
                print(f"A2A {generation} over {binding}: OK")


def come_back() -> None:
    """Start tasks at an agent on the JavaScript SDK, too, and get the results in a new process."""
    example = str(ROOT / "examples" / "long_running.py")
    with started(["node", str(FOLDER / "slow.mjs"), "a2a-1.0"]) as url:
        subprocess.run([sys.executable, example, url], check=True, timeout=300)
    print("Tasks that outlive their client, at three servers: OK")


def use_tools(server: str) -> None:
    """Use agents as tools over HTTP and stdio."""
    for line in ("1", "2"):
        run("mcp.mjs", line, "http", server)
        run("mcp.mjs", line, "stdio", *PROGRAM, *TARGETS)
        print(f"MCP over HTTP and stdio, SDK {line}: OK")
    inspector = str(MCP / "inspector" / "clients" / "launcher" / "build" / "index.js")
    for words in ([server, "--transport", "http"], [*PROGRAM, *TARGETS]):
        listed = run(inspector, "--cli", *words, "--method", "tools/list", node=NODE)
        assert {tool["name"] for tool in json.loads(listed)["tools"]} == set(TOOLS)
        call = ["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hello"]
        called = run(inspector, "--cli", *words, *call, node=NODE)
        assert json.loads(called)["content"][0]["text"] == "hello"
    print("MCP's inspector: OK")


def conform() -> None:
    """Run MCP's conformance suite."""
    suite = str(MCP / "conformance" / "dist" / "index.js")
    with started([sys.executable, str(HERE / "conforming.py")], ENVIRONMENT) as url:
        server = f"{url.partition('/agents/')[0]}/mcp"
        gaps = ["--suite", "all", "--expected-failures", str(HERE / "gaps.yaml")]
        output = run(suite, "server", "--url", server, *gaps, node=NODE)
    print("MCP's conformance suite:", output.partition("Total: ")[2].splitlines()[0])


if __name__ == "__main__":
    main()
