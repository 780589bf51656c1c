"""A small MCP server with two tools that records its process id in a file."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

NOTHING = {"type": "object", "properties": {}}
TOOLS = [{"name": name, "description": name, "inputSchema": NOTHING} for name in ("now", "never")]


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "clock", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": TOOLS}
    if params["name"] == "never":
        Path(sys.argv[1], "waiting").write_text("a pipe: somebody reads it")
        time.sleep(600)
    return {"content": [{"type": "text", "text": "noon"}]}


Path(sys.argv[1], f"{os.getpid()}.pid").touch()
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params"))
        print(  # noqa: T201 - this is how it speaks
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True
        )
