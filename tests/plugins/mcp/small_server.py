"""A small MCP server over stdio, which starts at once: `small_server.py MODE` has one tool.

The other tests use servers of the official SDK; the contract starts dozens of them.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
FORM = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ABOUT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "small", "version": "1"},
}


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def texts(*found):
    return [{"type": "text", "text": text} for text in found]


def call(mode, request_id, text):
    match mode:
        case "echo" | "held" | "mute" | "flagged":
            send(id=request_id, result={"content": texts(text), "isError": mode == "flagged"})
        case "silent":
            send(id=request_id, result={"content": []})
        case "failing":
            send(id=request_id, error={"code": -32603, "message": "hunter2"})
        case "ending":
            sys.stderr.write("hunter2\n")
            os._exit(1)
        case "midway":
            broken = {"type": "image", "data": "hunter2", "mimeType": "image/png"}
            send(id=request_id, result={"content": [*texts("begun"), broken]})
        case "asking":
            asked = {"message": "which city?", "requestedSchema": FORM}
            send(id=f"ask-{request_id}", method="elicitation/create", params=asked)
        case "endless":
            tell_of_process()
        case "deaf":
            take_no_notice()
        case "process":
            send(id=request_id, result={"content": texts(str(os.getpid()))})


def tell_of_process():
    """Write the process id for the test."""
    if folder := os.environ.get("MCP_TEST_FOLDER"):
        (Path(folder) / "begun").write_text(str(os.getpid()))


def take_no_notice():
    """Ignore everything except a signal."""
    tell_of_process()
    signal.pause()


def is_first():
    """Return whether this is the first process of the test."""
    try:
        (Path(os.environ["MCP_TEST_FOLDER"]) / "first").unlink()
    except FileNotFoundError:
        return False
    return True


def main(mode):
    if mode == "held" and is_first():
        tell_of_process()
        sys.stdin.read()
    if mode == "mute" and is_first():
        take_no_notice()
    for line in sys.stdin:
        message = json.loads(line)
        match message:
            case {"id": request_id, "method": "initialize"}:
                send(id=request_id, result=ABOUT)
            case {"id": request_id, "method": "tools/list"}:
                tool = {"name": mode, "description": "Does it.", "inputSchema": SCHEMA}
                send(id=request_id, result={"tools": [tool]})
            case {"id": request_id, "method": "tools/call", "params": {"arguments": arguments}}:
                call(mode, request_id, arguments["text"])
            case {"id": str(asked), "result": {"content": content}}:
                send(id=int(asked.removeprefix("ask-")), result={"content": texts(content["city"])})
            case {"id": request_id, "method": "ping"}:
                send(id=request_id, result={})


main(sys.argv[1])
