"""Options of agents with scripted models, which Claude Code calls over HTTP."""

from __future__ import annotations

import re
import tempfile
from typing import TYPE_CHECKING, Any

from a2a_adapters_claude_agent import adapt
from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server
from claude_agent_sdk import tool as sdk_tool

from tests.support.anthropic_endpoint import Endpoint, Fake

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ENDPOINT", "Fake", "adapt", "calling", "made", "results", "said", "script", "tool"]

ENDPOINT = Endpoint()
_SERVER = "local"


def calling(name: str, call_id: str = "c1", **arguments: Any) -> dict[str, Any]:
    """Return a call of a tool of `made`."""
    return using(f"mcp__{_SERVER}__{name}", call_id, **arguments)


def using(name: str, call_id: str = "c1", **arguments: Any) -> dict[str, Any]:
    """Return a call of a tool of Claude Code."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def script(*answers: Any, **options: Any) -> Fake:
    """Return a model that gives these answers in turn."""
    left = list(answers)
    return Fake(lambda _: left.pop(0), **options)


def agent(*answers: Any, **options: Any) -> ClaudeAgentOptions:
    """Return an agent whose model gives these answers in turn."""
    return made(script(*answers), **options)


def made(model: Fake, *, tools: Any = (), env: Any = None, **options: Any) -> ClaudeAgentOptions:
    """Return an agent with this model, with tools that it may use without asking."""
    variables = {
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_BASE_URL": ENDPOINT.address(model),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CONFIG_DIR": tempfile.mkdtemp(),
    }
    if tools:
        options["mcp_servers"] = {_SERVER: create_sdk_mcp_server(_SERVER, tools=list(tools))}
    return ClaudeAgentOptions(
        **{
            "allowed_tools": [f"mcp__{_SERVER}"] if tools else [],
            "cwd": tempfile.mkdtemp(),
            "env": variables | (env or {}),
            "model": "claude-sonnet-4-5",
            "setting_sources": [],
            "system_prompt": "Help.",
            **options,
        }
    )


def tool(function: Callable[..., Any]) -> Any:
    """Return a tool of a function."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]

    @sdk_tool(function.__name__, function.__doc__ or "", dict.fromkeys(names, str))
    async def run(arguments: dict[str, Any]) -> dict[str, Any]:
        made = function(**arguments)
        text = await made if hasattr(made, "__await__") else made
        return {"content": [{"type": "text", "text": text}]}

    return run


def said(messages: list[Any]) -> list[str]:
    """Return the texts of the user's messages."""
    found = [block for each in messages if each["role"] == "user" for block in _blocks(each)]
    texts = [block["text"] for block in found if block["type"] == "text"]
    return [text for text in texts if not text.startswith(("<", "[Request interrupted"))]


def results(messages: list[Any]) -> dict[str, str]:
    """Return the texts of the results of tools in the last message, by the id of the call."""
    found = [block for block in _blocks(messages[-1]) if block["type"] == "tool_result"]
    return {each["tool_use_id"]: _result(each["content"]) for each in found}


def _blocks(message: Any) -> list[Any]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _result(content: Any) -> str:
    blocks = [{"text": content}] if isinstance(content, str) else content
    text = "".join(each["text"] for each in blocks)
    return re.sub(r"<system-reminder>.*?</system-reminder>", "", text, flags=re.DOTALL).strip()
