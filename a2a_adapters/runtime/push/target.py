"""Where notifications go."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import httpx
from a2a.types import TaskPushNotificationConfig

if TYPE_CHECKING:
    from typing import Self

_V03 = "#a2a-0.3"
"""Ends a stored URL whose receiver came over A2A 0.3. Fragments are never sent."""


class Target(NamedTuple):
    """A push notification config, and the version of the protocol its receiver came over."""

    config: TaskPushNotificationConfig
    is_v03: bool

    @classmethod
    def from_stored(cls, stored: TaskPushNotificationConfig) -> Self:
        """Return the target of a stored config."""
        config = _copy(stored)
        config.url = config.url.removesuffix(_V03)
        return cls(config, stored.url != config.url)

    def to_stored(self) -> TaskPushNotificationConfig:
        """Return the config as it is stored."""
        stored = _copy(self.config)
        if self.is_v03:
            stored.url += _V03
        return stored

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


def _copy(config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    copy = TaskPushNotificationConfig()
    copy.CopyFrom(config)
    return copy
