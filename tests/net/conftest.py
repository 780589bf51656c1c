"""Event loops of the tests."""

from __future__ import annotations

import asyncio

import uvloop


def pytest_asyncio_loop_factories(config, item):
    """Run the tests of the network on each of the common event loops."""
    loops = {"asyncio": asyncio.new_event_loop}
    if item.path.stem == "test_network":
        loops["uvloop"] = uvloop.new_event_loop
    return loops
