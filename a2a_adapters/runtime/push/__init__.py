"""Push notifications: tasks tell their callers' web servers what happens (A2A 1.0, section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_adapters.net import OutboundPolicy

if TYPE_CHECKING:
    from a2a.server.tasks import PushNotificationConfigStore

__all__ = ["PushOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PushOptions:
    """Offers push notifications, and says how they are sent. Times are in seconds.

    Attributes:
        outbound: Which URLs notifications may go to; by default public ones only.
        store: Where the configs are kept; by default where the tasks are, in memory those of the
            last `Limits.finished_tasks` tasks.
        configs_per_task: How many receivers a task may have.
        interval_seconds: How long the changes of a task are gathered before they are sent. The
            end of a task or its question is sent at once, with what was gathered.
        attempts: How often one notification is sent before it is given up.
        attempt_seconds: How long a receiver may take to answer.
        pause_seconds: The pause before the second attempt. Each further one is twice as long.
        longest_pause_seconds: The longest of these pauses.
        waiting_updates: How far a receiver may fall behind before it is sent the task as it is
            instead.
    """

    outbound: OutboundPolicy = field(default_factory=OutboundPolicy)
    store: PushNotificationConfigStore | None = None
    configs_per_task: int = 10
    interval_seconds: float = 0.1
    attempts: int = 5
    attempt_seconds: float = 10
    pause_seconds: float = 1
    longest_pause_seconds: float = 60
    waiting_updates: int = 1000
