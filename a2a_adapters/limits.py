"""The limits a served agent keeps."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one served agent may use. Times are in seconds.

    Of several agents on one port each has these limits for itself; they share only the threads.

    Attributes:
        runs: How many messages are answered at once.
        queued_runs: How many more may wait for that; any further one is refused.
        run_seconds: How long one run may take before its task fails.
        idle_seconds: How long a run may go without any event before its task fails.
        input_seconds: How long a task may wait for its caller before it fails.
        waiting_tasks: How many tasks may wait for their callers; one more ends the oldest.
        shutdown_seconds: How long running tasks may go on when the server stops.
        finished_seconds: How long the memory store keeps a finished task.
        finished_tasks: How many finished tasks the memory store keeps.
        conversations: How many conversations are remembered.
        history_messages: How many messages of each conversation are remembered.
        history_seconds: How long an idle conversation is remembered.
        subscriber_events: How far a subscriber may fall behind before it is closed.
        threads: How many blocking calls run at once.
        body_bytes: How large a request may be.
        parts: How many parts a message may have.
        part_bytes: How large each of them may be.
    """

    runs: int = 1000
    queued_runs: int = 1000
    run_seconds: float = 900
    idle_seconds: float = 600
    input_seconds: float = 3600
    waiting_tasks: int = 10_000
    shutdown_seconds: float = 5
    finished_seconds: float = 3600
    finished_tasks: int = 10_000
    conversations: int = 10_000
    history_messages: int = 40
    history_seconds: float = 3600
    subscriber_events: int = 10_000
    threads: int = 32
    body_bytes: int = 16 * 1024 * 1024
    parts: int = 100
    part_bytes: int = 8 * 1024 * 1024
