"""Serves an agent with a store for files: `... FOLDER OWNER_BYTES EXPIRY_SECONDS`."""

from __future__ import annotations

import asyncio
import sys

from a2a_adapters_files import FileStore

from a2a_adapters import BearerTokens, Output, ServerOptions, serve
from tests.attack.target import ANN, BOB

UNIT = 64 * 1024
"""The least that a file counts for its owner."""


async def pieces(kind: str, count: int):
    for _ in range(count):
        yield b"x" * UNIT
        await asyncio.sleep(0.001)
    if kind == "fail":
        raise OSError("disk full")
    if kind == "hang":
        await asyncio.Event().wait()


async def agent(text: str):
    """Store a file of so many units: `add 3`, `fail 3` or `hang 3`."""
    kind, count = text.split()
    yield Output([await store.add(pieces(kind, int(count)))])


if __name__ == "__main__":
    folder, owner_bytes, seconds = sys.argv[1:]
    store = FileStore(
        folder,
        secret="0123456789abcdef" * 2,
        owner_bytes=int(owner_bytes),
        expiry_seconds=float(seconds),
        inline_bytes=1,
    )
    users = BearerTokens({ANN: "ann", BOB: "bob"})
    serve(agent, port=0, options=ServerOptions(files=store, authentication=users))
