"""How OmniRoute's clients are served."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OmniRouteDialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OmniRouteDialect:
    """OmniRoute's dialect: `build_app(target, dialects=[OmniRouteDialect(...)])`.

    `dialects=["omniroute"]` is the same with these defaults, which are OmniRoute's own.

    Attributes:
        run_seconds: How long a task may take before it fails.
        finished_seconds: How long a finished task can be asked for.
        tasks: How many tasks are kept; the oldest finished ones go first.
        task_bytes: How much memory what they were asked and have answered may take; that of one
            authenticated caller half of it. A question for which there is no room is left out.
        heartbeat_seconds: How long a stream may be silent.
        verdict_as_result: Whether `message/send` answers a failed task, not an error, if the
            agent's `policy_verdict` does not allow the call. Clients of the description read the
            verdict there.
    """

    run_seconds: float = 300
    finished_seconds: float = 600
    tasks: int = 10_000
    task_bytes: int = 64 * 1024 * 1024
    heartbeat_seconds: float = 15
    verdict_as_result: bool = True
