"""Prints how much a process grows, as a share of its limit, while it answers with 200 MB."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path

from a2a_adapters import Limits, ServerOptions, build_app
from a2a_adapters.testing import running
from tests.support.requests import rpc, say

KIB = 1024
LIMIT = 64 * KIB * KIB


def memory(kind):
    found = re.search(rf"{kind}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) * KIB


def peak_begins():
    """Forget the peak of the memory so far, and return the memory that is used now."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


async def talk(text):
    for number in range(200):
        yield f"{number:03}" + "x" * KIB * KIB
        await asyncio.sleep(0)


async def main(method):
    """Print the growth, and whether the end of the response names the limit."""
    options = ServerOptions(limits=Limits(running_bytes=LIMIT))
    async with running(build_app(talk, options=options)) as url:
        reader, writer = await asyncio.open_connection(*url.removeprefix("http://").split(":"))
        body = json.dumps(rpc(method, say("go")))
        head = "POST / HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\nConnection: close\r\n"
        before = peak_begins()
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        end = b""
        while read := await reader.read(64 * KIB):
            end = (end + read)[-2000:]
        writer.close()
        grown = (memory("VmHWM") - before) / LIMIT
    is_named = f"{LIMIT} bytes of memory for all answers".encode() in end
    print(json.dumps([grown, is_named]))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
