"""Calls a served agent as a LangChain chat model: `python calling.py ECHO_PORT STREAM_PORT`.

Prints the milliseconds of `A2AChatModel.ainvoke` and of a bare httpx post of the same JSON, the
chunks per second of `astream`, and the number of connections of many concurrent calls.
"""

from __future__ import annotations

import asyncio
import sys
import time
from statistics import median
from uuid import uuid4

import httpx
from a2a_adapters_langchain import A2AChatModel

from a2a_adapters import RemoteAgent
from a2a_adapters.net.backend import AsyncioNetwork

CALLS, CHUNKS = 200, 2000
WARM_UP_CALLS = 20
CALLS_AT_ONCE = 1000


async def main(echo_port: str, stream_port: str) -> None:
    echo = f"http://127.0.0.1:{echo_port}"
    model = A2AChatModel(agent=echo)
    async with httpx.AsyncClient(headers={"A2A-Version": "1.0"}) as client:
        invoked, posted = [], []
        for _ in range(
            WARM_UP_CALLS + CALLS
        ):  # alternately, because the speed of the machine varies
            invoked.append(await milliseconds(model.ainvoke("hello")))
            posted.append(await milliseconds(post(client, echo)))
    rate = await chunks_per_second(f"http://127.0.0.1:{stream_port}")
    made = await connections(echo)
    print(median(invoked[WARM_UP_CALLS:]), median(posted[WARM_UP_CALLS:]), rate, made)


async def milliseconds(call) -> float:
    began = time.perf_counter()
    await call
    return (time.perf_counter() - began) * 1e3


async def post(client: httpx.AsyncClient, url: str) -> None:
    message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    call = {"jsonrpc": "2.0", "id": "1", "method": "SendStreamingMessage"}
    response = await client.post(f"{url}/", json={**call, "params": {"message": message}})
    assert "TASK_STATE_COMPLETED" in response.text


async def chunks_per_second(url: str) -> float:
    model = A2AChatModel(agent=url)
    await model.ainvoke("1")
    began = time.perf_counter()
    count = sum([1 async for chunk in model.astream(str(CHUNKS)) if chunk.content])
    assert count == CHUNKS
    return count / (time.perf_counter() - began)


async def connections(url: str) -> int:
    """Return the number of connections of many concurrent calls."""
    made = 0
    connect = AsyncioNetwork.connect_tcp

    async def counted(*arguments, **options):
        nonlocal made
        made += 1
        return await connect(*arguments, **options)

    AsyncioNetwork.connect_tcp = counted
    async with RemoteAgent(url) as agent:
        replies = await asyncio.gather(*(agent.send(str(n)) for n in range(CALLS_AT_ONCE)))
    assert [reply.text for reply in replies] == [str(n) for n in range(CALLS_AT_ONCE)]
    return made


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
