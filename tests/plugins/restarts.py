"""Adapters of successive processes on a persistent storage."""

from __future__ import annotations

from tests.plugins.sql.conftest import storage_at


class Process:
    """An adapter that is opened and closed as by a server.

    Args:
        url: The storage's URL.
        adapter: The adapter.
        agent: Which agent of the server it is.
    """

    def __init__(self, url, adapter, agent="agent"):
        self._storage = storage_at(url)
        self._adapter = adapter
        self._agent = agent

    async def __aenter__(self):
        await self._storage.start()
        await self._adapter.open(self._storage.of(self._agent))
        return self._adapter

    async def __aexit__(self, *_):
        await self._adapter.aclose()
        await self._storage.aclose(1)
