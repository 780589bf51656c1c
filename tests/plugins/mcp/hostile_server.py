"""A hostile or careless MCP server over stdio."""

from __future__ import annotations

import json
import sys

HIDDEN = "a\u202eb\u200b\x1b[31m\x00"
MANY = {"type": "object", "properties": {f"p{n}" + "x" * 100: 1 for n in range(2_000)}}
TOOLS = [
    {"name": "big", "title": HIDDEN * 1_000, "description": HIDDEN * 9_000, "inputSchema": MANY},
    {"name": f"hidden{HIDDEN}", "inputSchema": {"type": "object"}},
    {"name": "x" * 1_000, "inputSchema": {"type": "object"}},
    {"name": "list", "inputSchema": {"type": "object", "properties": [1], "required": 5}},
    {"name": "misuse", "inputSchema": {"type": "object", "properties": {"how": {}}}},
]
ABOUT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": HIDDEN * 1_000, "version": "1"},
    "instructions": HIDDEN * 9_000,
}


def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def misuse(request_id, how, token):
    text = {"type": "text", "text": HIDDEN * 9_000}
    match how:
        case "shout":
            sys.stderr.write("fine\n\x1b[2J" + "x" * 100_000 + "\nforged\rline\n")
            sys.stderr.flush()
            sys.stderr.buffer.write("a\u2028ERROR:\u0085b\u202e\n".encode() + b"\xff\xfe\n")
            sys.stderr.write("y\n" * 5_000)
            sys.stderr.flush()
            send(id=request_id, result={"content": [{"type": "text", "text": "shouted"}]})
        case "error":
            send(id=request_id, result={"isError": True, "content": [text]})
        case "refusal":
            send(id=request_id, error={"code": -32602, "message": text["text"]})
        case "nested":
            result = {"content": [], "structuredContent": {"value": nested(150)}}
            send(id=request_id, result=result)
        case "endlessly nested":
            inner = "[" * 9_000 + "]" * 9_000
            sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {request_id}, "result": {inner}}}\n')
            sys.stdout.flush()
        case "strange":
            send(id=request_id, result={"content": [{"type": "what"}]})
        case "log":
            sys.stdout.write("a line of a log\n")
            send(id=request_id, result={"content": [{"type": "text", "text": "fine"}]})
        case "progress":
            news = {"progressToken": token, "progress": 1, "message": text["text"]}
            send(method="notifications/progress", params=news)
            send(id=request_id, result={"content": []})
        case "question":
            asked = {"message": text["text"], "requestedSchema": {"properties": [], "required": 5}}
            send(id="asked", method="elicitation/create", params=asked)


def main():
    asking = None
    for line in sys.stdin:
        message = json.loads(line)
        match message:
            case {"id": request_id, "method": "initialize"}:
                send(id=request_id, result=ABOUT)
            case {"id": request_id, "method": "tools/list"}:
                send(id=request_id, result={"tools": TOOLS})
            case {"id": request_id, "method": "ping"}:
                send(id=request_id, result={})
            case {"id": request_id, "method": "tools/call", "params": params}:
                asking = request_id
                token = params.get("_meta", {}).get("progressToken")
                misuse(request_id, params["arguments"]["how"], token)
            case {"id": "asked", "result": {"action": action}}:
                send(id=asking, result={"content": [{"type": "text", "text": action}]})


main()
