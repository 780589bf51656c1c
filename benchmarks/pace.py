"""Sends requests at a constant rate, whether or not earlier ones have been answered.

A client that waits for each answer sends fewer requests to a slow server, which hides the waiting
time. Here each request has a scheduled time, from which its response time counts.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from statistics import quantiles

import load

_SECONDS = 120
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


async def p99(
    port: int, rate: float, seconds: float, connections: int, expect: re.Pattern[bytes]
) -> float:
    """Return the 99th percentile of response times, in seconds, at `rate` requests per second."""
    count = int(rate * seconds)
    began = time.perf_counter()
    times = (began + number / rate for number in range(count))
    async with asyncio.timeout(_SECONDS):
        took = await asyncio.gather(*(_answers(port, times, expect) for _ in range(connections)))
    return quantiles([each for some in took for each in some], n=100)[-1]


async def _answers(port: int, times: Iterator[float], expect: re.Pattern[bytes]) -> list[float]:
    """Send requests when they are due; return their response times."""
    took = []
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for due in times:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        writer.write(load.request("SendMessage", "hello"))
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        body = await reader.readexactly(int(length[1]) if length else 0)
        if not expect.search(body):
            raise RuntimeError(f"unexpected answer: {body[:2000]!r}")
        took.append(time.perf_counter() - due)
    writer.close()
    return took
