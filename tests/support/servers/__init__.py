"""Foreign agents for tests of the client side.

Independent of this project's runtime: served by a2a-sdk, or written by
hand for behaviour that no proper server has.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp

from tests.support.servers.bindings import grpc_first, old_card_path, rest_only, rpc_elsewhere
from tests.support.servers.late import stream_ends_working, submitted
from tests.support.servers.old import old_message, old_task
from tests.support.servers.single import (
    artifact_and_status,
    final_task,
    final_task_in_stream,
    message_only,
    mixed_parts,
    progress,
    progress_then_status,
    several_parts,
    status_only,
)
from tests.support.servers.streams import (
    chunks,
    chunks_left_open,
    chunks_then_whole,
    chunks_without_task,
    snapshots,
    status_deltas,
    status_deltas_then_whole,
    status_snapshots,
    status_whole,
    task_then_message,
)

_FACTORIES = (
    message_only,
    final_task,
    final_task_in_stream,
    status_only,
    artifact_and_status,
    progress,
    progress_then_status,
    chunks,
    chunks_left_open,
    chunks_then_whole,
    snapshots,
    status_deltas,
    status_deltas_then_whole,
    status_snapshots,
    status_whole,
    several_parts,
    mixed_parts,
    stream_ends_working,
    submitted,
    rest_only,
    grpc_first,
    rpc_elsewhere,
    old_card_path,
    old_message,
    old_task,
    chunks_without_task,
    task_then_message,
)

FOREIGN_AGENTS: dict[str, Callable[[], ASGIApp]] = {each.__name__: each for each in _FACTORIES}
"""Agents that answer `ping` with `pong: ping` in different ways."""
