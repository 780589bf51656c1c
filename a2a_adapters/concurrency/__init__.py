"""Blocking code off the event loop, coroutines in blocking code, timeouts and background tasks."""

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
from a2a_adapters.concurrency.threads import run_in_thread
from a2a_adapters.concurrency.waiting import PerLoop, within

__all__ = [
    "Background",
    "BoundedMap",
    "PerLoop",
    "ProcessTree",
    "basic_environment",
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
