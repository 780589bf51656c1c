"""Receives push notifications of remote agents."""

from __future__ import annotations

from a2a_adapters_webhooks.notification import Notification
from a2a_adapters_webhooks.receiver import WebhookReceiver

__all__ = ["Notification", "WebhookReceiver"]
