"""Fixtures for the tests of MCP."""

from __future__ import annotations

import pytest

from tests.support.processes import fifos


@pytest.fixture
async def folder(tmp_path, monkeypatch):
    """Return the folder where tools and agents signal their start and cancellation.

    Asynchronous, so that it ends before the event loop, which waits for reading threads.
    """
    monkeypatch.setenv("MCP_TEST_FOLDER", str(tmp_path))
    with fifos(tmp_path, "begun", "cancelled"):
        yield tmp_path
