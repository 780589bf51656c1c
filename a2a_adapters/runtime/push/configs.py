"""The push notification configs of tasks: checked, counted, stored."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import httpx
from a2a.server.tasks.push_notification_config_store import normalize_push_notification_config
from a2a.types import TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError

from a2a_adapters.concurrency import BoundedMap
from a2a_adapters.contract.errors import ForbiddenUrlError
from a2a_adapters.protocol.messages import new_id

if TYPE_CHECKING:
    from typing import Self

    from a2a.server.context import ServerCallContext
    from a2a.server.tasks import PushNotificationConfigStore

    from a2a_adapters.runtime.push import PushOptions


_LONGEST = 2048
"""The maximum length of each field of a config."""

_URLS = 1024
_URL_SECONDS = 10.0

logger = logging.getLogger(__name__)


class PushConfigs:
    """Checks configs and keeps them in a store of a2a-sdk's interface."""

    def __init__(self, store: PushNotificationConfigStore, options: PushOptions) -> None:
        self._store = store
        self._options = options
        self._counting: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Held while a task's configs are added."""
        self._allowed: BoundedMap[str, bool] = BoundedMap(_URLS, _URL_SECONDS)
        """Recently allowed URLs. Each connection is checked again."""

    async def check(
        self, task_id: str, config: TaskPushNotificationConfig, *, is_v03: bool, others: int = 0
    ) -> Target:
        """Return the target of a config, whose id is by default the task's.

        Args:
            task_id: The task.
            config: The config.
            is_v03: Whether the receiver uses A2A 0.3.
            others: The number of other configs of the task.

        Raises:
            InvalidParamsError: Its URL or another field is not allowed, or there are too many.
        """
        config = normalize_push_notification_config(task_id, config)
        if not config.authentication.scheme:  # 0.3 allows an empty list
            config.ClearField("authentication")
        _check_fields(config)
        await self._check_url(config)
        if others >= self._options.configs_per_task:
            raise InvalidParamsError(
                f"a task has {self._options.configs_per_task} push notification configs at most"
            )
        return Target(config, is_v03)

    async def set(
        self,
        task_id: str,
        config: TaskPushNotificationConfig,
        context: ServerCallContext,
        *,
        is_v03: bool,
        in_message: bool = False,
    ) -> Target:
        """Store a config of a task that is already stored.

        A config without an id gets its own. It replaces another one in A2A 0.3, where a task has
        at most one without an id, and in a later message if both have the same URL.

        Raises:
            InvalidParamsError: As `check`.
        """
        counting = self._counting.setdefault(task_id, asyncio.Lock())
        async with counting:
            known = {target.config.id: target for target in await self.of(task_id, context)}
            if not config.id and not is_v03:
                config = _copy(config)
                same = [i for i, t in known.items() if in_message and t.config.url == config.url]
                config.id = same[0] if same else new_id() if task_id in known else task_id
            others = len(known.keys() - {config.id or task_id})
            target = await self.check(task_id, config, is_v03=is_v03, others=others)
            await self._store.set_info(task_id, target.to_stored(), context)
        return target

    async def of(self, task_id: str, context: ServerCallContext) -> list[Target]:
        """Return the caller's configs of a task."""
        return [Target.from_stored(c) for c in await self._store.get_info(task_id, context)]

    async def of_all(self, task_id: str) -> list[Target]:
        """Return the configs of a task, of any caller."""
        return [Target.from_stored(c) for c in await self._store.get_info_for_dispatch(task_id)]

    async def delete(
        self, task_id: str, context: ServerCallContext, config_id: str | None = None
    ) -> None:
        """Delete one config of a task, or all; it need not exist."""
        await self._store.delete_info(task_id, context, config_id)

    async def _check_url(self, config: TaskPushNotificationConfig) -> None:
        if self._allowed.get(config.url):
            return
        try:
            await self._options.outbound.check(config.url)
            self._allowed[config.url] = True
        except ForbiddenUrlError as error:
            reason = str(error)  # with the error, a kept log record would keep the task
            logger.warning("push notifications of task %s refused: %s", config.task_id, reason)
            # The reason would reveal the network here.
            scheme = "an https" if self._options.outbound.https_only else "an http or https"
            raise InvalidParamsError(
                f"the url of a push notification config has to be {scheme} address without "
                "credentials that this agent may connect to"
            ) from error


def _check_fields(config: TaskPushNotificationConfig) -> None:
    """Refuse fields that are too long, or not valid in a header."""
    authentication = config.authentication
    headers = (config.token, authentication.scheme, authentication.credentials)
    if any(len(text) > _LONGEST for text in (config.id, config.url, config.tenant, *headers)):
        raise InvalidParamsError(
            f"the fields of a push notification config have {_LONGEST} characters at most"
        )
    if not all(text.isascii() and (text.isprintable() or not text) for text in headers):
        raise InvalidParamsError("token, scheme and credentials have to be printable ASCII")


_V03 = "#a2a-0.3"
"""Marks the stored URL of a receiver of A2A 0.3. Fragments are never sent."""


@dataclass(frozen=True)
class Target:
    """A push notification config, and the version of the protocol its receiver uses."""

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
        """The scheme, host and port of the URL."""
        return self.url.scheme, self.url.host, self.url.port

    def is_same(self, other: Target) -> bool:
        """Return whether both targets get the same requests."""
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
