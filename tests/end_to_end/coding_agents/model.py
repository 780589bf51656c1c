"""A scripted model behind OpenAI's chat API, which coding agents take for a real one."""

from __future__ import annotations

import json
import re

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

ANSWER = "All done."
CONTENT = "written by the agent\n"
_USAGE = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
_WRITERS = {"write_file": "file_path", "write": "filePath"}
"""The tools that write a file, of Qwen Code and OpenCode, and their arguments for its path."""


async def _respond(request: Request) -> Response:
    """Answer `ANSWER`; call the tool that writes a file if the last prompt says `write PATH`."""
    body = await request.json()
    if not body.get("stream"):
        choice = {"index": 0, "message": {"role": "assistant", "content": ANSWER}}
        return JSONResponse(
            _head("chat.completion") | {"choices": [{**choice, "finish_reason": "stop"}]}
        )
    return StreamingResponse(_events(body), media_type="text/event-stream")


def model() -> Starlette:
    """Return the API."""
    return Starlette(routes=[Route("/v1/chat/completions", _respond, methods=["POST"])])


def _events(body):
    call = _call(body)
    if call:
        yield _event({"role": "assistant", "content": None, "tool_calls": [call]})
        yield _event({}, "tool_calls")
    else:
        for piece in ANSWER.split(" "):
            yield _event({"content": piece if piece == "All" else f" {piece}"})
        yield _event({}, "stop")
    yield "data: [DONE]\n\n"


def _call(body):
    """Return the call of a tool; None where the model answers."""
    tools = {tool["function"]["name"] for tool in body.get("tools") or ()}
    prompts = [each["content"] for each in body["messages"] if each["role"] == "user"]
    wanted = re.search(r"write (/\S+?)[\"\s\\]", f"{json.dumps(prompts[-1])} ")
    name = next((name for name in _WRITERS if name in tools), None)
    if name is None or wanted is None or body["messages"][-1]["role"] == "tool":
        return None
    arguments = json.dumps({_WRITERS[name]: wanted[1], "content": CONTENT})
    function = {"name": name, "arguments": arguments}
    return {"index": 0, "id": "call_1", "type": "function", "function": function}


def _head(kind):
    return {"id": "1", "object": kind, "created": 0, "model": "scripted", "usage": _USAGE}


def _event(delta, reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    chunk = _head("chat.completion.chunk") | {"choices": [choice]}
    if reason is None:
        del chunk["usage"]
    return f"data: {json.dumps(chunk)}\n\n"
