"""Where notifications go."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import httpx
from a2a.types import TaskPushNotificationConfig

if TYPE_CHECKING:
    from typing import Self

_V03 = "#a2a-0.3"
"""Ends a stored URL whose receiver came over A2A 0.3. Fragments are never sent."""


@dataclass(frozen=True)
class Target:
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

    @cached_property
    def url(self) -> httpx.URL:
        """The address."""
        return _parsed(self.config.url)

    @cached_property
    def origin(self) -> tuple[str, str, int | None]:
        """The scheme, host and port of the URL: the server that is called."""
        return self.url.scheme, self.url.host, self.url.port

    def is_same(self, other: Target) -> bool:
        """Return whether the notifications of both are the same requests."""
        return (self.url, self.headers) == (other.url, other.headers)

    @cached_property
    def headers(self) -> dict[str, str]:
        """The headers of every notification (A2A 1.0, section 4.3.3).

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


@lru_cache(maxsize=1024)
def _parsed(url: str) -> httpx.URL:
    return httpx.URL(url)


def _copy(config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    copy = TaskPushNotificationConfig()
    copy.CopyFrom(config)
    return copy
