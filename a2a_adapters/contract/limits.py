"""The resource limits of a served agent."""

from __future__ import annotations

from dataclasses import dataclass

from a2a_adapters.contract.checking import check_fields

_POSITIVE = frozenset(
    {"body_bytes", "body_seconds", "connections", "connections_per_address", "header_bytes"}
    | {
        "idle_seconds",
        "lag_seconds",
        "lease_seconds",
        "run_seconds",
        "sweep_seconds",
        "threads",
        "values",
    }
)
"""The limits that would stop a server if they were 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resource limits of one served agent. Times are in seconds, sizes in bytes.

    Each agent on a port has its own limits. The highest `threads` of an event loop's agents applies
    to each.

    Attributes:
        runs: Maximum number of concurrent runs.
        queued_runs: Maximum number of messages queued for a run; further ones are refused. One
            owner, or one address of anonymous callers, can use half of `runs + queued_runs`.
        lag_seconds: Maximum delay of the event loop; new messages are refused while it lasts.
        run_seconds: Maximum duration of a run; then its task fails.
        idle_seconds: Maximum time between two events of a run; then its task fails.
        input_seconds: Maximum time a task waits for its caller; then it fails.
        waiting_tasks: Maximum number of tasks waiting for their callers; one more ends the oldest.
        shutdown_seconds: Time that running tasks get to finish when the server stops.
        finished_seconds: Time for which the memory storage keeps a finished task.
        finished_tasks: Number of finished tasks that the memory storage keeps.
        stored_seconds: Time for which a database keeps a finished task.
        stored_tasks: Number of tasks that a database keeps; beyond it, the finished tasks that
            changed least recently are deleted.
        lease_seconds: Time after which a process that has not renewed its lease in the database
            counts as dead, and others take over its tasks.
        sweep_seconds: Interval between searches for the tasks of dead processes.
        recovery_attempts: Number of processes that may die while resuming a task before it fails;
            0 resumes no task. Deaths before the agent had any effect do not count.
        finished_bytes: Maximum size of finished tasks in memory; half of it for one owner.
        running_bytes: Maximum memory of the messages being answered, their answers beyond 64 KiB
            each (twice their size), and the tasks waiting for their callers; half of it for one
            owner.
        conversations: Number of conversations whose history is kept.
        history_messages: Number of messages kept of each conversation.
        history_bytes: Maximum size of the history of all conversations in memory, or of each
            conversation in a database.
        history_seconds: Time for which the history of an idle conversation is kept.
        subscriber_events: Number of updates queued for a slow subscriber before its run pauses.
        subscriber_seconds: Time a run pauses for a slow subscriber before its stream is ended with
            an error.
        subscriber_bytes: Maximum size of updates queued for a subscriber, besides the largest one.
        subscribers_bytes: Maximum size of updates queued for all subscribers; beyond it, slow ones
            lose their unread updates.
        threads: Maximum number of an agent's concurrent blocking calls. Further ones wait.
        header_bytes: Maximum size of the request target and headers; each header counts 32 bytes
            extra.
        body_bytes: Maximum size of a request body.
        bodies_bytes: Maximum size of all request bodies being received.
        body_seconds: Maximum time to receive a request, from the first byte of its headers, and
            for a new connection to send one.
        requests_per_minute: Maximum number of requests per authenticated caller, or per address if
            the server has no authentication; 0 means unlimited. Anonymous callers on this machine
            and those not identified by a proxy are never limited. Processes that share a database
            count together.
        connections: Maximum number of connections that `serve` keeps open, at most seven eighths
            of the process's open files. Beyond it, the longest idle connection is closed, or the
            new one if none is idle. A few more are reserved for health checks.
        keep_alive_seconds: Time for which `serve` keeps an idle connection. It has to exceed that
            of a proxy in front, which otherwise sends requests on connections that are being
            closed, and answers with 502.
        connections_per_address: Maximum number of connections per address. It does not apply to
            addresses of this machine, nor with `trust_forwarded`.
        values: Maximum number of JSON values in a request, data and metadata included.
        metadata_bytes: Maximum size of a message's metadata, including that of its parts.
        answers_bytes: Maximum size of all responses being sent, besides streams.
        parts: Maximum number of parts in a message.
        part_bytes: Maximum size of a part.

    Raises:
        ConfigurationError: A limit is not a number, or out of range.
    """

    runs: int = 1000
    queued_runs: int = 1000
    lag_seconds: float = 2
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
    keep_alive_seconds: float = 75
    values: int = 10_000
    metadata_bytes: int = 256 * 1024
    answers_bytes: int = 128 * 1024 * 1024
    parts: int = 100
    part_bytes: int = 8 * 1024 * 1024

    def __post_init__(self) -> None:
        check_fields(self, _POSITIVE)
