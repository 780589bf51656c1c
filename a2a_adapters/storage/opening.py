"""From a URL to a storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.storage.memory import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a.server.tasks import TaskStore

    from a2a_adapters.contract.limits import Limits
    from a2a_adapters.storage.interface import Storage

_MEMORY = ("memory:", "memory")


def open_storage(
    url: str, limits: Limits, make_tasks: Callable[[], TaskStore], bus: str | None = None
) -> Storage:
    """Return the storage at a URL; nothing is connected before it is started.

    Args:
        url: `memory:`, or a URL that a plugin knows: `sqlite:///file.db`,
            `postgresql://user:password@host/database`.
        limits: How much is kept in memory, and how long leases are.
        make_tasks: Makes a store for tasks in memory.
        bus: The URL of a message bus between processes with a shared storage, if they do not use
            the storage itself: `redis://...`.

    Raises:
        ConfigurationError: No plugin knows the URL, or the storage cannot have a bus. The text
            does not repeat the URL, which may hold a password.
        MissingExtraError: A driver is not installed.
    """
    if url in _MEMORY:
        if bus is not None:
            raise ConfigurationError("a bus is for processes that share a postgresql: storage")
        return MemoryStorage(limits, make_tasks)
    opened = installed_plugins().storage(url, limits, bus)
    if opened is None:
        raise ConfigurationError(
            f"no plugin opens the storage {url.partition(':')[0]}:, see: a2a-adapters plugins"
        )
    return cast("Storage", opened)
