"""A scripted model behind OpenAI's chat API, which coding agents take for a real one.

It does what the last prompt says: `write NAME` calls the agent's tool that writes a file, `forecast
CITY` an MCP tool of that name, and `wait` begins an answer that does not end.
"""

from __future__ import annotations

import asyncio
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


async def _events(body):
    prompt = _prompt(body)
    if call := _call(body, prompt):
        yield _event({"role": "assistant", "content": None, "tool_calls": [call]})
        yield _event({}, "tool_calls")
    else:
        answer = f"{ANSWER} {_text(body['messages'][-1])}" if "forecast" in prompt else ANSWER
        for piece in re.split(r"(?<= )", answer):
            yield _event({"content": piece})
            if prompt.endswith("wait") and body.get("tools"):
                await asyncio.Event().wait()
        yield _event({}, "stop")
    yield "data: [DONE]\n\n"


def _prompt(body):
    """Return the last prompt; after a restart, the one before the permission was granted."""
    prompts = [_text(each) for each in body["messages"] if each["role"] == "user"]
    return next(each for each in reversed(prompts) if "Permission is granted" not in each).strip()


def _text(message):
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _call(body, prompt):
    """Return the next call of a tool; None where the model answers."""
    tools = [tool["function"]["name"] for tool in body.get("tools") or ()]
    latest = _latest_call(body["messages"])
    if (wanted := re.search(r"write (\S+)$", prompt)) and tools and not latest:
        name = next(name for name in _WRITERS if name in tools)
        folder = re.search(r"[Ww]orking (?:in the )?directory: (/[^\s\\]+)", json.dumps(body))
        return _called(name, {_WRITERS[name]: f"{folder[1]}/{wanted[1]}", "content": CONTENT})
    if (wanted := re.search(r"forecast (\w+)$", prompt)) and tools and "forecast" not in latest:
        name = next((name for name in tools if name.endswith("forecast")), None)
        if name is None and not latest:  # Qwen Code shows MCP tools only to those who search them
            return _called("tool_search", {"query": "forecast"})
        assert name is not None, tools
        return _called(name, {"message": wanted[1]})
    return None


def _latest_call(messages):
    """Return the name of the tool that was called last after the last prompt; "" for none."""
    latest = ""
    for message in messages:
        if message["role"] == "user":
            latest = ""
        for call in message.get("tool_calls") or ():
            latest = call["function"]["name"]
    return latest


def _called(name, arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"index": 0, "id": "call_1", "type": "function", "function": function}


def _head(kind):
    return {"id": "1", "object": kind, "created": 0, "model": "scripted", "usage": _USAGE}


def _event(delta, reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    chunk = _head("chat.completion.chunk") | {"choices": [choice]}
    if reason is None:
        del chunk["usage"]
    return f"data: {json.dumps(chunk)}\n\n"
