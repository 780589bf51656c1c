"""Streams and cancellations through another process, as measured by `bars`."""

from __future__ import annotations

import asyncio

import pytest

from tests.plugins.sql.replicas.bars import behind, cancel_all, read_all, replicas

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]


def test_streams_are_whole_and_tasks_stop_through_another_process(tmp_path):
    with replicas(tmp_path, 2) as urls:
        pairs = asyncio.run(read_all(urls, tmp_path, streams=10, chunks=20))
        took = asyncio.run(cancel_all(urls, tmp_path, tries=4))
    assert all(each.is_whole(20) for pair in pairs for each in pair)
    assert len(behind(pairs)) == 200
    assert len(took) == 4
