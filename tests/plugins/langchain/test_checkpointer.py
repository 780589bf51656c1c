"""LangGraph's checkpointer in the server's PostgreSQL."""

from __future__ import annotations

import asyncio

import psycopg
from a2a_adapters_langchain.serving.checkpointer import open_checkpointer

from tests.support.postgresql import new_database

OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


async def test_parallel_reads_share_one_connection():
    url = new_database()
    async with (
        open_checkpointer(url) as saver,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as other,
    ):
        configs = [{"configurable": {"thread_id": str(number)}} for number in range(30)]
        assert await asyncio.gather(*map(saver.aget_tuple, configs)) == [None] * 30
        assert await (await other.execute(OTHERS)).fetchone() == (1,)
