"""Workflows of DBOS, and its database."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager

from a2a_adapters_dbos import ask, emit
from dbos import DBOS

SECRET = "hunter2"


@DBOS.workflow()
async def echo(text):
    return text


@DBOS.workflow()
async def silent(text):
    return None


@DBOS.workflow()
async def failing(text):
    raise RuntimeError(SECRET)


@DBOS.workflow()
async def failing_midway(text):
    await emit("begun")
    raise RuntimeError(SECRET)


@DBOS.workflow()
async def endless(text):
    await asyncio.Event().wait()


@DBOS.workflow()
async def asking(text):
    return f"to {(await ask('which city?')).text}"


@contextmanager
def launched(url, **options):
    """Run DBOS with a database."""
    DBOS(config={"name": "tests", "system_database_url": url, "log_level": "CRITICAL", **options})
    try:
        yield
    finally:
        DBOS.destroy()
