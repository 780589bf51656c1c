"""Measures the overhead of a router: `python benchmarks/router.py [--write docs/router.md]`.

The model is a program on 127.0.0.1 that answers immediately, so that only the router and litellm
are measured. The kinds of calls alternate, because the speed of the machine varies. Takes a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median

import uvicorn
from a2a_adapters_router import Router, RouterConfig
from a2a_adapters_router.models import litellm
from report import machine
from starlette.applications import Starlette
from starlette.requests import Request  # noqa: TC002 - its annotation is read
from starlette.responses import Response
from starlette.routing import Route

from a2a_adapters import RemoteAgent, ServerOptions, TextDelta, build_app
from a2a_adapters.testing import running

WARM_UP, CALLS = 10, 60
TOKENS, STREAMS = 2000, 5
MESSAGE = "What is new?"
BEGIN, END = "<!-- measured -->\n", "<!-- end of measurements -->"


def frame(*choices: dict, **more: object) -> str:
    about = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return f"data: {json.dumps({**about, 'choices': choices, **more})}\n\n"


def answer(tokens: int) -> str:
    said = (
        f"word{n} " for n in range(tokens)
    )  # litellm would take repeated equal calls for a loop
    words = (frame({"delta": {"content": each}, "index": 0}) for each in said)
    end = frame({"delta": {}, "index": 0, "finish_reason": "stop"})
    used = {"prompt_tokens": 4, "completion_tokens": tokens, "total_tokens": tokens + 4}
    return "".join(words) + end + frame(usage=used) + "data: [DONE]\n\n"


async def complete(request: Request) -> Response:
    """Answer with the number of tokens in the model's name; the model "fails" fails."""
    model = (await request.json())["model"]
    if model == "fails":
        return Response("{}", 500)
    return Response(answer(int(model)), media_type="text/event-stream")


def provide() -> None:
    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    config = uvicorn.Config(app, port=0, log_level="error")
    server, socket = uvicorn.Server(config), config.bind_socket()
    sys.stdout.write(f"{socket.getsockname()[1]}\n")
    sys.stdout.flush()
    server.run([socket])


@contextmanager
def provider() -> Iterator[str]:
    command = [sys.executable, __file__, "--provide"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            lines = (line for line in process.stdout if line.strip().isdigit())
            yield f"http://127.0.0.1:{int(next(lines))}/v1"
        finally:
            process.terminate()


def parameters(url: str, model: str) -> dict:
    return {"model": f"openai/{model}", "api_base": url, "api_key": "os.environ/BENCH_KEY"}


def config(url: str) -> RouterConfig:
    models = {"short": "10", "long": str(TOKENS), "fails": "fails"}
    deployments = [
        {"model_name": name, "litellm_params": parameters(url, model), "max_tokens": TOKENS}
        for name, model in models.items()
    ]
    return RouterConfig(
        deployments=deployments,
        combos={"fallback": ["fails", "short"]},
        prices={name: {"input": 1, "output": 1} for name in models},
        quotas=[
            {"provider": "openai", "per": "month", "usd": 1_000_000},
            {"owner": "*", "per": "month", "usd": 1_000_000},
        ],
        cooldown_seconds=0,
    )


@asynccontextmanager
async def agent(url: str, storage: str) -> AsyncGenerator[RemoteAgent]:
    app = build_app(Router(config(url)), options=ServerOptions(storage=storage))
    async with running(app) as address, RemoteAgent(address) as found:
        yield found


async def direct(url: str, model: str) -> int:
    """Call a model as the router does; return the pieces of its answer."""
    stream = await litellm().acompletion(
        **{**parameters(url, model), "api_key": "none"},
        messages=[{"role": "user", "content": MESSAGE}],
        max_tokens=TOKENS,
        stream=True,
        stream_options={"include_usage": True},
    )
    return sum([1 async for chunk in stream if chunk.choices and chunk.choices[0].delta.content])


async def routed(agent: RemoteAgent, **metadata: str) -> tuple[int, list[dict]]:
    """Call a model through a router; return the pieces of its answer and the attempts."""
    pieces, reply = 0, None
    async for event in agent.stream(MESSAGE, metadata=metadata):
        pieces, reply = pieces + isinstance(event, TextDelta), event
    return pieces, reply.metadata["resilience_trace"]


async def measure(url: str, databases: dict[str, str]) -> dict[str, str]:
    times = defaultdict(list)
    rates = defaultdict(list)
    for name, storage in databases.items():
        async with agent(url, storage) as router:
            for _ in range(WARM_UP + CALLS):
                times["direct"].append(await milliseconds(direct(url, "10")))
                times[name].append(await milliseconds(routed(router, model="short")))
                times[name, "fallback"].append(await fallback(router))
            for _ in range(STREAMS):
                rates["direct"].append(await per_second(direct(url, str(TOKENS))))
                rates[name].append(await per_second(stream(router)))
    alone = median(times["direct"])
    rows = {"a call by litellm": f"{alone:.1f} ms"}
    for name in databases:
        added = median(times[name][WARM_UP:]) - alone
        rows[f"added by a router over A2A, accounts in {name}"] = f"{added:.1f} ms"
        beyond = median(times[name, "fallback"][WARM_UP:]) - median(times[name][WARM_UP:])
        rows[f"added by a fallback, beyond the failed attempt, accounts in {name}"] = (
            f"{beyond:.1f} ms"
        )
    rows["tokens per second by litellm"] = f"{median(rates['direct']):,.0f}"
    for name in databases:
        rows[f"tokens per second by a router over A2A, accounts in {name}"] = (
            f"{median(rates[name]):,.0f}"
        )
    return rows


async def stream(router: RemoteAgent) -> int:
    pieces, _ = await routed(router, model="long")
    assert pieces
    return TOKENS


async def fallback(router: RemoteAgent) -> float:
    """Return the duration of a call in milliseconds, without its failed first attempt."""
    began = time.perf_counter()
    _, trace = await routed(router, combo="fallback")
    took = (time.perf_counter() - began) * 1e3
    assert [each["event"] for each in trace][1:] == ["fallback_needed", "fallback_selected"]
    return took - trace[0]["latency_ms"]


async def milliseconds(call) -> float:
    began = time.perf_counter()
    await call
    return (time.perf_counter() - began) * 1e3


async def per_second(call) -> float:
    began = time.perf_counter()
    return (await call) / (time.perf_counter() - began)


def table(rows: dict[str, str]) -> str:
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(["| | |", "|---|---|", *lines, "", machine([]).partition("\n\n")[2]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="page to update with the table")
    parser.add_argument("--provide", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.provide:
        provide()
        return
    os.environ["BENCH_KEY"] = "none"
    logging.disable()  # of the failed attempts
    with provider() as url, tempfile.TemporaryDirectory() as folder:
        databases = {"memory": "memory:", "SQLite": f"sqlite:///{folder}/router.db"}
        text = table(asyncio.run(measure(url, databases)))
    print(text)
    if options.write:
        before, _, rest = options.write.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        options.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
