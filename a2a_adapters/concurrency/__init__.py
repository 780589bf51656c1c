"""Threads and event loops, timeouts, background tasks, child processes and bounded maps."""

from __future__ import annotations

from a2a_adapters.concurrency.background import (
    Background,
    end_if_cancelled,
    finished,
    in_background,
    let_fail,
    produced,
    shielded,
    until,
)
from a2a_adapters.concurrency.bounded import BoundedMap
from a2a_adapters.concurrency.processes import ProcessTree, basic_environment, reaping
from a2a_adapters.concurrency.threads import calls_of_task, run_in_thread
from a2a_adapters.concurrency.turns import Turns
from a2a_adapters.concurrency.waiting import PerLoop, within

__all__ = [
    "Background",
    "BoundedMap",
    "PerLoop",
    "ProcessTree",
    "Turns",
    "basic_environment",
    "calls_of_task",
    "end_if_cancelled",
    "finished",
    "in_background",
    "let_fail",
    "produced",
    "reaping",
    "run_in_thread",
    "shielded",
    "until",
    "within",
]
