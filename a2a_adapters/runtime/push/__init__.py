"""Push notifications: tasks report to web servers of their callers (A2A 1.0, section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_adapters.contract.checking import check_fields
from a2a_adapters.net import OutboundPolicy

if TYPE_CHECKING:
    from a2a.server.tasks import PushNotificationConfigStore

__all__ = ["PushOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PushOptions:
    """Enables push notifications. Times are in seconds.

    Attributes:
        outbound: The URLs that notifications may go to; by default public ones only.
        store: Stores the configs; by default the storage of the tasks, in memory for the last
            `Limits.finished_tasks` tasks.
        configs_per_task: The maximum number of receivers of a task.
        interval_seconds: The time for which changes of a task are collected. A settled state is
            sent at once, with the changes collected before.
        attempts: The maximum number of attempts to send a notification.
        attempt_seconds: The time limit for a receiver's answer.
        pause_seconds: The pause before the second attempt. Each further one is twice as long.
        longest_pause_seconds: The longest of these pauses.
        waiting_updates: The number of updates that a receiver may fall behind before it gets the
            whole task instead.

    Raises:
        ConfigurationError: A number has the wrong type or is out of range.
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

    def __post_init__(self) -> None:
        check_fields(self, {"attempts", "attempt_seconds"})
