"""A served agent of the Claude Agent SDK that asks its caller before it writes a file.

    pip install 'a2a-adapters[claude]'
    python examples/claude_agent_served.py

It needs no key: Claude Code calls an API in this file, which follows a script. Remove the
`ANTHROPIC_*` variables below to call Claude.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from pathlib import Path

from a2a_adapters_claude_agent import a2a_tool
from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running


def scripted(messages: list) -> dict:
    """Ask the weather service, write what it says, and report."""
    last = messages[-1]["content"]
    results = [block for block in last if block["type"] == "tool_result"]
    match results:
        case []:
            given = {"message": "Rome"}
            return {"type": "tool_use", "id": "1", "name": "mcp__remote__weather", "input": given}
        case [{"tool_use_id": "1", "content": [{"text": forecast}, *_]}]:
            given = {"file_path": str(Path("weather.txt").absolute()), "content": forecast}
            return {"type": "tool_use", "id": "2", "name": "Write", "input": given}
        case _:
            return {"type": "text", "text": "The forecast is in weather.txt."}


async def respond(request):
    """Stream the answer of a model."""
    block = scripted((await request.json())["messages"])
    is_text = block["type"] == "text"
    begun = {**block, "text": ""} if is_text else {**block, "input": {}}
    delta = (
        {"type": "text_delta", "text": block["text"]}
        if is_text
        else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    )
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "script"}
    stop = {"stop_reason": "end_turn" if is_text else "tool_use"}
    events = [
        {"type": "message_start", "message": {**message, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    ]
    lines = (f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
    return StreamingResponse(lines, media_type="text/event-stream")


def weather(text: str) -> str:
    """Forecast the weather of a city."""
    return f"It will be sunny in {text}."


async def main() -> None:
    api = Starlette(routes=[Route("/v1/messages", respond, methods=["POST"])])
    async with (
        running(api) as model,
        running(build_app(weather)) as service,
        RemoteAgent(service) as remote,
    ):
        forecast = a2a_tool(remote, await remote.describe())
        reporter = ClaudeAgentOptions(
            allowed_tools=["mcp__remote__weather"],
            env={"ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "none"},
            mcp_servers={"remote": create_sdk_mcp_server("remote", tools=[forecast])},
            setting_sources=[],
        )
        app = build_app(reporter, name="Reporter", description="Writes down the weather.")
        async with running(app) as url, RemoteAgent(url) as agent:
            conversation = agent.conversation()
            question = await conversation.send("What will the weather be like?")
            print(question.question)
            assert "weather.txt" in question.question
            answer = await conversation.send("yes")
            print(answer.text)
            assert answer.text == "The forecast is in weather.txt."


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        asyncio.run(main())
        assert "sunny in Rome" in Path("weather.txt").read_text()
