"""Compares the APIs of front ends with A2A and with peers: `python benchmarks/front_ends.py`.

Fails if one of our APIs sends chunks at less than 0.7 of A2A's rate.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from contextlib import ExitStack
from operator import truediv
from statistics import median
from uuid import uuid4

import load
import uvloop
from processes import interpreter, start

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


OWN = {
    "A2A, JSON-RPC": (lambda text: load.request("SendStreamingMessage", text), load.COMPLETED),
    "Chat Completions": (chat, re.compile(rb'"finish_reason": ?"stop"')),
    "Responses": (responses, re.compile(rb'"type":"response.completed"')),
    "AG-UI": (run, re.compile(rb'"type":"RUN_FINISHED"')),
}
SERVERS = {
    ("front ends", "stream"): {name: name for name in OWN},
    ("litellm", "stream"): {"litellm's proxy, Chat Completions": "Chat Completions"},
    ("pydantic-ai", "typed"): {"an agent of Pydantic AI, AG-UI": "AG-UI"},
    ("pydantic-ai's", "typed"): {"Pydantic AI's own adapter, AG-UI": "AG-UI"},
}
"""The names of the measured APIs, and the requests that they take, by server and agent."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    rates, firsts = defaultdict(list), defaultdict(list)
    with ExitStack() as stack:
        ports = {
            (server, agent): stack.enter_context(start(server, agent)).port
            for server, agent in SERVERS
            if interpreter(server)
        }
        for _ in range(rounds + 1):  # the first warms up
            for server, port in ports.items():
                for name, taken in SERVERS[server].items():
                    rates[name].append(uvloop.run(rate(port, *OWN[taken])))
                    firsts[name] += uvloop.run(first(port, *OWN[taken]))
    print("| API | chunks/s | of A2A | first token |\n|---|---|---|---|")
    slow = []
    for name, found in rates.items():
        token = median(firsts[name][FIRST_TOKENS:]) * 1e3
        # The speed of a machine with other users changes from round to round.
        share = median(map(truediv, found[1:], rates["A2A, JSON-RPC"][1:]))
        print(f"| {name} | {median(found[1:]):,.0f} | {share:.2f} | {token:.2f} ms |")
        slow += [name] if name in OWN and share < LEAST else []
    if slow:
        sys.exit(f"too slow: {', '.join(slow)}")


async def rate(port: int, make, ended: re.Pattern[bytes]) -> float:
    """Return the number of chunks received per second on many concurrent streams."""
    requests = [make(str(CHUNKS)) for _ in range(STREAMS)]
    done, took = await load.read_streams(port, STREAMS, requests, ended)
    assert sum(each.events for each in done) >= STREAMS * CHUNKS
    return STREAMS * CHUNKS / took


async def first(port: int, make, ended: re.Pattern[bytes]) -> list[float]:
    """Return the time to the first word of sequential streams."""
    requests = [make("3") for _ in range(FIRST_TOKENS)]
    [connection], _ = await load.read_streams(port, 1, requests, ended)
    return connection.first


if __name__ == "__main__":
    main()
