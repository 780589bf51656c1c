"""Where notifications go."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import httpx

if TYPE_CHECKING:
    from a2a.types import TaskPushNotificationConfig


class Target(NamedTuple):
    """A push notification config, and the version of the protocol its receiver came over."""

    config: TaskPushNotificationConfig
    is_v03: bool

    @property
    def host(self) -> str:
        """The host of the URL."""
        return httpx.URL(self.config.url).host

    def headers(self) -> dict[str, str]:
        """Return the headers of every notification (A2A 1.0, section 4.3.3).

        The token's header is that of A2A 0.3 and a2a-sdk; 1.0 names none.
        """
        headers = {
            "Content-Type": "application/json" if self.is_v03 else "application/a2a+json",
            "User-Agent": "a2a-adapters",
        }
        if self.config.token:
            headers["X-A2A-Notification-Token"] = self.config.token
        authentication = self.config.authentication
        if authentication.scheme and authentication.credentials:
            headers["Authorization"] = f"{authentication.scheme} {authentication.credentials}"
        return headers
