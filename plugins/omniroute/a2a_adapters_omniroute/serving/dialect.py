"""Settings for serving OmniRoute's clients."""

from __future__ import annotations

from dataclasses import dataclass

from a2a_adapters.plugin import check_fields

__all__ = ["OmniRouteDialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniRouteDialect:
    """OmniRoute's dialect: `build_app(target, dialects=[OmniRouteDialect(...)])`.

    `dialects=["omniroute"]` uses the defaults, which are OmniRoute's own.

    Attributes:
        run_seconds: Time limit of a task.
        finished_seconds: Retention of a finished task.
        tasks: Maximum number of tasks; the oldest finished ones are dropped first.
        task_bytes: Maximum memory of questions and answers; one authenticated caller may use half
            of it. Questions that do not fit are omitted.
        heartbeat_seconds: Interval of heartbeats in a silent stream.
        verdict_as_result: Whether `message/send` returns a failed task instead of an error if the
            agent's `policy_verdict` denies the call. Documented clients read the
            verdict there.
    """

    run_seconds: float = 300
    finished_seconds: float = 600
    tasks: int = 10_000
    task_bytes: int = 64 * 1024 * 1024
    heartbeat_seconds: float = 15
    verdict_as_result: bool = True

    def __post_init__(self) -> None:
        check_fields(self, {"run_seconds", "tasks", "task_bytes", "heartbeat_seconds"})
