"""The limits a served agent keeps."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one served agent may use. Times are in seconds.

    Of several agents on one port each has these limits for itself; they share only the threads,
    as several apps in one event loop do, which has as many as the one that allows most.

    Attributes:
        runs: How many messages are answered at once.
        queued_runs: How many more may wait for that; any further one is refused. One owner, or
            one address where nobody has a name, may have half of both together.
        run_seconds: How long one run may take before its task fails.
        idle_seconds: How long a run may go without any event before its task fails.
        input_seconds: How long a task may wait for its caller before it fails.
        waiting_tasks: How many tasks may wait for their callers; one more ends the oldest.
        shutdown_seconds: How long running tasks may go on when the server stops.
        finished_seconds: How long the memory store keeps a finished task.
        finished_tasks: How many finished tasks the memory store keeps.
        stored_seconds: How long a storage that is a database keeps a finished task.
        stored_tasks: How many tasks it keeps; of more, the finished ones that changed first go.
        lease_seconds: How long a process counts as alive that does not renew its lease in the
            database: after that others take over its tasks.
        sweep_seconds: How often tasks of such processes are looked for.
        recovery_attempts: How many processes may die after they have resumed a task, before it
            fails; 0 resumes none. Deaths before the agent had any effect do not count.
        finished_bytes: How much memory these may take; those of one owner half of that.
        running_bytes: How much the messages that are being answered, what their agents have said
            beyond 64 KiB each, and the tasks that wait for their callers may take; those of one
            owner half of that.
        conversations: How many conversations are remembered.
        history_messages: How many messages of each conversation are remembered.
        history_bytes: How large what is remembered of all conversations may be; in a database what
            is remembered of each of them.
        history_seconds: How long an idle conversation is remembered.
        subscriber_events: How many updates may wait for the reader of a stream before its run does.
        subscriber_seconds: How long a run waits for such a reader before it ends the stream by
            an error.
        subscriber_bytes: How many bytes may wait for it, beside the largest update.
        subscribers_bytes: How many bytes may wait for all readers; one that is behind then loses
            what it has not read.
        threads: How many blocking calls run at once.
        header_bytes: How large the headers of a request may be, its address included; each header
            counts 32 bytes more than it is.
        body_bytes: How large a request may be.
        bodies_bytes: How large the requests that are being received may be together.
        body_seconds: How long a request may take to come in, from the first byte of its headers,
            and a new connection to send one.
        requests_per_minute: How many requests one authenticated caller may send in a minute, or
            one address where nobody authenticates; 0 is any number. Anonymous callers on this
            machine, and those whom a proxy does not name, may always send any number. Processes
            that share a database count together.
        connections: How many connections `serve` holds open, and at most seven eighths of the
            files that the process may open. Beyond that, the one that has kept the server waiting
            longest is closed, or the new one if the server works for all of them. A few more are
            kept free for `/livez` and `/healthz`.
        connections_per_address: How many of them one address may have. This machine's addresses
            may have all, and so may all with `trust_forwarded`.
        values: How many JSON values a request may hold, those in its data and metadata included.
        metadata_bytes: How large the metadata of a message may be, that of its parts included.
        answers_bytes: How large the answers that are being sent may be together, beside streams.
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
    stored_seconds: float = 30 * 24 * 3600
    stored_tasks: int = 1_000_000
    lease_seconds: float = 10
    sweep_seconds: float = 5
    recovery_attempts: int = 3
    finished_bytes: int = 128 * 1024 * 1024
    running_bytes: int = 128 * 1024 * 1024
    conversations: int = 10_000
    history_messages: int = 40
    history_bytes: int = 64 * 1024 * 1024
    history_seconds: float = 3600
    subscriber_events: int = 10_000
    subscriber_seconds: float = 10
    subscriber_bytes: int = 8 * 1024 * 1024
    subscribers_bytes: int = 128 * 1024 * 1024
    threads: int = 32
    header_bytes: int = 64 * 1024
    body_bytes: int = 16 * 1024 * 1024
    bodies_bytes: int = 64 * 1024 * 1024
    body_seconds: float = 60
    requests_per_minute: int = 60_000
    connections: int = 10_000
    connections_per_address: int = 1_000
    values: int = 10_000
    metadata_bytes: int = 256 * 1024
    answers_bytes: int = 128 * 1024 * 1024
    parts: int = 100
    part_bytes: int = 8 * 1024 * 1024
