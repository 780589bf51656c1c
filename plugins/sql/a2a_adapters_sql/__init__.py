"""SQLite and PostgreSQL storage, recovery of tasks, and replicas on a shared database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import ConfigurationError, MissingExtraError
from a2a_adapters.plugin import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters import Limits
    from a2a_adapters.storage import Storage
    from a2a_adapters_sql.storage import SqlStorage


@hookimpl(trylast=True)
def a2a_storage(url: str, limits: Limits, bus: str | None) -> Storage:
    """Return the storage for a URL. This is the last plugin asked; it refuses unknown URLs."""
    if bus is not None and not url.startswith("postgresql:"):
        raise ConfigurationError("--bus requires a postgresql: storage")
    return storage_at(url, limits.lease_seconds, bus)


@hookimpl
def a2a_commands() -> Mapping[str, str]:
    """Return the commands for database operators."""
    module = "a2a_adapters_sql.commands"
    return {"db": f"{module}.db:db", "tasks": f"{module}.tasks:tasks"}


def storage_at(url: str, lease_seconds: float | None = None, bus: str | None = None) -> SqlStorage:
    """Return the storage at a URL, without connecting.

    Raises:
        ConfigurationError: The URL is not that of a database.
        MissingExtraError: The driver is not installed.
    """
    from a2a_adapters_sql.address import kind_of  # noqa: PLC0415 - only for its own commands

    kind = kind_of(url)
    try:
        from a2a_adapters_sql.lease import LEASE_SECONDS  # noqa: PLC0415 - an extra
        from a2a_adapters_sql.storage import SqlStorage  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"storage in {kind}", kind) from error
    return SqlStorage(url, LEASE_SECONDS if lease_seconds is None else lease_seconds, bus)
