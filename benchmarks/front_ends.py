"""Compares the APIs of front ends with A2A, on the same agent: `python benchmarks/front_ends.py`.

Fails if an API sends chunks at less than 0.7 of A2A's rate.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from statistics import median
from uuid import uuid4

import load
import uvloop
from processes import start

STREAMS, CHUNKS, FIRST_TOKENS = 16, 1000, 50
LEAST = 0.7
_HEAD = (
    "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    "Content-Length: {}\r\n\r\n"
)


def post(path: str, body: dict) -> bytes:
    text = json.dumps({"model": "stream", "stream": True, **body})
    return f"{_HEAD.format(path, len(text))}{text}".encode()


def chat(text: str) -> bytes:
    return post("/v1/chat/completions", {"messages": [{"role": "user", "content": text}]})


def responses(text: str) -> bytes:
    return post("/v1/responses", {"input": text})


def run(text: str) -> bytes:
    message = {"id": "m", "role": "user", "content": text}
    return post("/ag-ui", {"threadId": f"{uuid4()}", "runId": "r", "messages": [message]})


APIS = {
    "A2A, JSON-RPC": (lambda text: load.request("SendStreamingMessage", text), load.COMPLETED),
    "Chat Completions": (chat, re.compile(rb'"finish_reason":"stop"')),
    "Responses": (responses, re.compile(rb'"type":"response.completed"')),
    "AG-UI": (run, re.compile(rb'"type":"RUN_FINISHED"')),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    rates, firsts = defaultdict(list), defaultdict(list)
    with start("front ends", "stream") as server:
        for _ in range(rounds + 1):  # the first warms up
            for name, (make, ended) in APIS.items():
                rates[name].append(uvloop.run(rate(server.port, make, ended)))
                firsts[name] += uvloop.run(first(server.port, make, ended))
    print("| API | chunks/s | of A2A | first token |\n|---|---|---|---|")
    base = median(rates["A2A, JSON-RPC"][1:])
    slow = []
    for name in APIS:
        found = median(rates[name][1:])
        token = median(firsts[name][FIRST_TOKENS:]) * 1e3
        print(f"| {name} | {found:,.0f} | {found / base:.2f} | {token:.2f} ms |")
        slow += [name] if found < LEAST * base else []
    if slow:
        sys.exit(f"too slow: {', '.join(slow)}")


async def rate(port: int, make, ended: re.Pattern[bytes]) -> float:
    """Return the number of chunks received per second on many concurrent streams."""
    requests = [make(str(CHUNKS)) for _ in range(STREAMS)]
    _, took = await load.read_streams(port, STREAMS, requests, ended)
    return STREAMS * CHUNKS / took


async def first(port: int, make, ended: re.Pattern[bytes]) -> list[float]:
    """Return the time to the first word of sequential streams."""
    requests = [make("3") for _ in range(FIRST_TOKENS)]
    [connection], _ = await load.read_streams(port, 1, requests, ended)
    return connection.first


if __name__ == "__main__":
    main()
