"""An unused agent closes everything it has opened."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running

CARD = {
    "name": "agent",
    "supportedInterfaces": [{"url": "http://127.0.0.1/", "protocolBinding": "JSONRPC"}],
}
BLOCKING = """
import asyncio, gc, sys
from a2a_adapters import RemoteAgent

def main():
    agent = RemoteAgent(sys.argv[1])
    agent.card = agent  # a cycle
    return agent.send_sync("hello").text

async def amain():
    return (await RemoteAgent(sys.argv[1]).send("hello")).text

print(main(), asyncio.run(amain()))
gc.collect()
"""


async def test_an_agent_that_is_dropped_closes_its_connections():
    body = json.dumps(CARD)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    is_closed = asyncio.Event()

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"{head}\r\n\r\n{body}".encode())
        assert await reader.read() == b""
        is_closed.set()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        agent = RemoteAgent(f"http://{host}:{port}")
        assert (await agent.card()).name == "agent"
        assert not is_closed.is_set()
        del agent
        async with asyncio.timeout(60):
            await is_closed.wait()


async def test_a_script_without_cleanup_ends_without_a_warning():
    command = [sys.executable, "-W", "error", "-c", BLOCKING]
    async with running(build_app(lambda text: text)) as url:
        done = await asyncio.to_thread(
            subprocess.run, [*command, url], capture_output=True, text=True, check=False
        )
    assert done.stdout == "hello hello\n"
    assert done.stderr == ""
