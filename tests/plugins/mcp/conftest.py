"""Shared by the tests of MCP."""

from __future__ import annotations

import pytest

from tests.support.fifos import fifos


@pytest.fixture
async def folder(tmp_path, monkeypatch):
    """Return where the tools and agents of the tests tell that they have begun or are cancelled.

    It is asynchronous to end before the event loop does, which waits for threads that read.
    """
    monkeypatch.setenv("MCP_TEST_FOLDER", str(tmp_path))
    with fifos(tmp_path, "begun", "cancelled"):
        yield tmp_path
