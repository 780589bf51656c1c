"""Push notifications: tasks tell their callers' web servers what happens (A2A 1.0, section 4.3)."""

from __future__ import annotations

from a2a_adapters.runtime.push.notifier import PushNotifier

__all__ = ["PushNotifier"]
