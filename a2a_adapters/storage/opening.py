"""From a URL to a storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.contract.errors import ConfigurationError, MissingExtraError
from a2a_adapters.storage.memory import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a.server.tasks import TaskStore

    from a2a_adapters.contract.limits import Limits
    from a2a_adapters.storage.interface import Storage

MEMORY = "memory:"


def open_storage(
    url: str, limits: Limits, make_tasks: Callable[[], TaskStore], bus: str | None = None
) -> Storage:
    """Return the storage at a URL; nothing is connected before it is started.

    Args:
        url: `memory:`, `sqlite:///file.db` or `postgresql://user:password@host/database`.
        limits: How much is kept in memory, and how long leases are.
        make_tasks: Makes a store for tasks in memory.
        bus: By what processes that share a database talk, in place of that: `redis://...`.

    Raises:
        ConfigurationError: A URL is none of these, or there is nobody to talk to.
        MissingExtraError: A driver is not installed.
    """
    if bus is not None and not url.startswith("postgresql:"):
        raise ConfigurationError("a bus is for processes that share a postgresql: storage")
    if url in (MEMORY, "memory"):
        return MemoryStorage(limits, make_tasks)
    try:
        from a2a_adapters_sql.storage import SqlStorage  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        name = url.partition(":")[0]
        extra = "sqlite" if name == "sqlite" else "postgresql"
        raise MissingExtraError(f"storage in {name}", extra) from error
    return SqlStorage(url, limits.lease_seconds, bus)
