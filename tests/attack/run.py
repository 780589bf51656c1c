"""Runs each class of attacks with many concurrent callers, and checks the server.

`python -m tests.attack.run [CALLERS]` prints the results.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpx
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters.testing import running
from tests.attack import forgery
from tests.attack.floods import FLOODS
from tests.attack.target import Target
from tests.attack.trespasses import TRESPASSES, Trespass
from tests.support.processes import launched

MOST_MIB = 1024
"""Memory limit of the server."""

_SECONDS = 60
_AT_ONCE = 50
"""Number of concurrent callers that wait for answers, limited by the shared processor."""

_DEFAULT = ["-m", "a2a_adapters", "serve", "tests.attack.served:agent", "--port", "0"]
_DEFAULT += ["--dialect", "openai", "--dialect", "ag-ui"]

CLASSES = (*FLOODS, *TRESPASSES)


@dataclass
class Row:
    """Result of a class of attacks."""

    name: str
    tries: int
    mebibytes: int = 0
    findings: list[str] = field(default_factory=list)


async def attack(
    callers: int, seconds: float, tell: Callable[[Row], object] = lambda _: None
) -> list[Row]:
    """Attack with a number of callers, class by class; floods last for `seconds`.

    Attacks without credentials use a default server, the others one with
    authentication. `tell` receives each row.
    """
    rows = []
    async with (
        _server(*_DEFAULT) as default,
        _provider() as keys,
        _server("-m", "tests.attack.served", keys) as guarded,
    ):
        for name, flood in FLOODS.items():
            attackers = [flood(default, number) for number in range(callers)]
            rows.append(await _flooded(default, Row(name, callers), attackers, seconds))
            tell(rows[-1])
        for name, trespass in TRESPASSES.items():
            target = guarded if trespass.is_guarded else default
            rows.append(await _trespassed(target, name, trespass, callers))
            tell(rows[-1])
    return rows


@asynccontextmanager
async def _server(*arguments: str) -> AsyncGenerator[Target]:
    with launched([sys.executable, *arguments], {**os.environ}) as (server, url):
        yield Target(url, server.pid)


@asynccontextmanager
async def _provider() -> AsyncGenerator[str]:
    """Publish the keys of an identity provider; yield their URL."""

    async def publish(_request):
        return JSONResponse(forgery.KEYS)

    async with running(Starlette(routes=[Route("/keys", publish)])) as url:
        yield f"{url}/keys"


async def _flooded(
    target: Target, row: Row, callers: list[Awaitable[object]], seconds: float
) -> Row:
    attackers = [asyncio.create_task(_cut_off(caller)) for caller in callers]
    await asyncio.sleep(0)
    await _look(target, row, "meanwhile")
    await asyncio.wait(attackers, timeout=seconds)
    await _look(target, row, "then")
    for attacker in attackers:
        attacker.cancel()
    await asyncio.wait(attackers)
    return _weighed(target, row)


async def _trespassed(target: Target, name: str, trespass: Trespass, callers: int) -> Row:
    """Make each attempt at least once; callers return findings."""
    row = Row(name, max(callers, len(trespass.attempts)))
    places = asyncio.Semaphore(_AT_ONCE)

    async def tried(number: int) -> str:
        async with places:
            try:
                return await trespass.attempts[number % len(trespass.attempts)](target)
            except httpx.HTTPError as error:
                return f"no answer: {type(error).__name__}"

    attackers = asyncio.gather(*map(tried, range(row.tries)))
    await _look(target, row, "meanwhile")
    found = Counter(filter(None, await attackers))
    row.findings += [f"{count} x {finding}" for finding, count in found.items()]
    await _look(target, row, "then")
    return _weighed(target, row)


async def _look(target: Target, row: Row, when: str) -> None:
    """Record a finding if a small message is not answered."""
    try:
        async with asyncio.timeout(_SECONDS):
            if not await target.answers():
                row.findings.append(f"a small message is refused {when}")
    except (TimeoutError, httpx.HTTPError):
        row.findings.append(f"a small message is not answered {when}")


def _weighed(target: Target, row: Row) -> Row:
    row.mebibytes = target.peak()
    if row.mebibytes > MOST_MIB:
        row.findings.append(f"{row.mebibytes} MiB of memory")
    return row


async def _cut_off(caller: Awaitable[object]) -> None:
    with suppress(OSError, httpx.HTTPError):  # the server has closed the connection
        await caller


def line(*cells: object) -> str:
    """Return a line of the table."""
    return f"| {' | '.join(map(str, cells))} |"


HEAD = "\n".join([line("class", "tries", "peak memory, MiB", "findings"), "|---|---:|---:|---|"])


def as_text(row: Row) -> str:
    """Return a row's line of the table."""
    return line(row.name, row.tries, row.mebibytes, "; ".join(row.findings) or "none")


def tell(row: Row) -> None:
    """Print one line of the table."""
    print(as_text(row), flush=True)


if __name__ == "__main__":
    print(HEAD, flush=True)
    found = asyncio.run(attack(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, 5, tell))
    sys.exit(any(row.findings for row in found))
