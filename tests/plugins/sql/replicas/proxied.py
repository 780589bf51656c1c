"""A server behind the proxy with the targets of the contract."""

from __future__ import annotations

import asyncio
import signal
import sys

from a2a_adapters import InputRequired, Limits, ServerOptions, build_app
from a2a_adapters.testing import AdapterContract, running
from tests.end_to_end.test_isolation import a_function, a_graph


async def echo(text):
    return text


async def silent(text):
    return None


async def failing(text):
    raise RuntimeError(AdapterContract.secret)


async def failing_midway(text):
    yield "begun"
    raise RuntimeError(AdapterContract.secret)


async def endless(text):
    await asyncio.Event().wait()


async def asking(text):
    answer = yield InputRequired("which city?")
    yield answer.text


TARGETS = {each.__name__: each for each in (echo, silent, failing, failing_midway, endless, asking)}


async def main(storage):
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    every = TARGETS | {"function": a_function(), "graph": a_graph()}
    usual = ServerOptions(storage=storage)
    hasty = ServerOptions(storage=storage, limits=Limits(run_seconds=0.3))
    async with (
        running(build_app(every, options=usual)) as url,
        running(build_app(TARGETS, options=hasty)) as at_hasty,
    ):
        print(f"hasty agents at {at_hasty}", file=sys.stderr)  # noqa: T201
        print(f"A2A agent at {url}/, and more", file=sys.stderr, flush=True)  # noqa: T201
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
