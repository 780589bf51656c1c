"""Agno's dialect both ways: serves an agent to Agno's clients, and calls it like an Agno server.

pip install a2a-adapters
python examples/agno_both_ways.py
"""

from __future__ import annotations

import asyncio

import httpx
from a2a_adapters_agno import agno_card

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running


def clerk(text: str) -> str:
    """Answer letters."""
    return f"Dear sir, {text}"


async def main() -> None:
    app = build_app(clerk, name="My Agent", dialects=["agno"])
    async with running(app) as url, httpx.AsyncClient(base_url=url) as http:
        # The requests of a client of Agno, and of one of Agno-Go.
        message = {"messageId": "1", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}
        call = {"jsonrpc": "2.0", "id": "1", "method": "message/send"}
        response = await http.post(
            "/a2a/agents/my-agent/v1/message:send", json={**call, "params": {"message": message}}
        )
        said = response.json()["result"]["history"][-1]["parts"][0]["text"]
        print("Agno's client reads:", said)
        assert said == "Dear sir, hello"

        named = {**message, "agentId": "my-agent"}
        response = await http.post("/a2a/message/send", json={**call, "params": {"message": named}})
        task = response.json()["result"]["task"]
        print("Agno-Go's client reads:", task["history"][-1]["parts"][0]["text"])
        assert task["status"] == "completed"

        # RemoteAgent recognises an Agno server by its card; agno_card replaces a missing one.
        for agent in (f"{url}/a2a/agents/my-agent", agno_card(url, "my-agent")):
            async with RemoteAgent(agent) as remote:
                reply = await remote.send("hello")
            print("RemoteAgent reads:", reply.text)
            assert reply.text == "Dear sir, hello"


if __name__ == "__main__":
    asyncio.run(main())
