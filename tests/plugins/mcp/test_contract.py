"""The adapter contract for MCP servers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from a2a.types import TaskState
from a2a_adapters_mcp import McpServer

from a2a_adapters.testing import (
    AdapterContract,
    InputRequiredContract,
    OnSqlite,
    stream,
    user_message,
)
from tests.support.agents.contracts import OnPostgresql

SMALL = Path(__file__).with_name("small_server.py")

pytestmark = pytest.mark.timeout(5 * 60)


def small(mode, **options):
    return McpServer([sys.executable, "-I", "-S", str(SMALL), mode], **options)


class TestMcpServer(AdapterContract, InputRequiredContract):
    """One process per conversation."""

    def echo(self):
        return small("echo")

    def silent(self):
        return small("silent")

    def failing(self):
        return small("failing")

    def failing_midway(self):
        return small("midway")

    def endless(self):
        return small("endless")

    def asking(self):
        return small("asking")

    async def test_a_server_crash_fails_the_task_and_reveals_nothing(self):
        async with self.client(small("ending")) as client:
            for _ in range(2):
                events = await stream(client, user_message("hello"))
                assert events[-1].status_update.status.state == TaskState.TASK_STATE_FAILED
                assert "hunter2" not in str(events)


class TestShared(AdapterContract):
    """One shared process."""

    def echo(self):
        return small("echo", shared=True)

    def silent(self):
        return small("silent", shared=True)

    def failing(self):
        return small("failing", shared=True)

    def failing_midway(self):
        return small("midway", shared=True)

    def endless(self):
        return small("endless", shared=True)


class TestMcpServerOnSqlite(OnSqlite, TestMcpServer):
    pass


class TestMcpServerOnPostgresql(OnPostgresql, TestMcpServer):
    pass
