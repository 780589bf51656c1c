"""A minimal client of the protocol of 2026-07-28."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import httpx

VERSION = "2026-07-28"
KEY = "io.modelcontextprotocol/"
TASKS = {"extensions": {f"{KEY}tasks": {}}}
FORMS = {"elicitation": {"form": {}}}
PAGES = {"elicitation": {"form": {}, "url": {}}}


class Client:
    """Calls the MCP server at a port.

    Args:
        http: The HTTP client.
        can: Its capabilities.
    """

    def __init__(self, http, can):
        self.http = http
        self.can = can
        self.progress = []

    async def post(self, method, *, headers=None, meta=None, **params):
        """Send a request; return the HTTP response."""
        about = {
            f"{KEY}protocolVersion": VERSION,
            f"{KEY}clientCapabilities": self.can,
            **(meta or {}),
        }
        sent = {"mcp-protocol-version": VERSION, "mcp-method": method}
        if name := params.get("name") or params.get("taskId") or params.get("uri"):
            sent["mcp-name"] = name
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": about}}
        return await self.http.post("/mcp", json=body, headers=sent | (headers or {}))

    async def ask(self, method, **params):
        """Send a request; return its result or error."""
        answer = await self.post(method, **params)
        message = self._last(answer)
        assert message["id"] == 7
        return message.get("result") or message["error"]

    async def call(self, tool, text="x", **params):
        """Call a tool with progress."""
        arguments = {"message": text} if isinstance(text, str) else text
        meta = {"progressToken": "p"}
        return await self.ask("tools/call", name=tool, arguments=arguments, meta=meta, **params)

    async def ended(self, task_id):
        """Return a task once it is no longer working."""
        while True:
            found = await self.ask("tasks/get", taskId=task_id)
            if found["status"] != "working":
                return found

    def _last(self, answer):
        if answer.headers["content-type"].startswith("application/json"):
            return answer.json()
        lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
        *news, last = [json.loads(line.removeprefix("data: ")) for line in lines]
        self.progress += [each["params"]["message"] for each in news]
        return last


@asynccontextmanager
async def stateless(url, can=None, headers=None):
    """Yield a client."""
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as http:
        yield Client(http, {} if can is None else can)


def accepted(result, **content):
    """Return the answer to the single question of a result."""
    [key] = result["inputRequests"]
    return {key: {"action": "accept", "content": content}}


def said(result):
    """Return the first text of a result."""
    return result["content"][0]["text"]
