"""SQLite and PostgreSQL storage, recovery of tasks, and replicas on a shared database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import ConfigurationError, MissingExtraError, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters import Limits
    from a2a_adapters.storage import Storage


@hookimpl(trylast=True)
def a2a_storage(url: str, limits: Limits, bus: str | None) -> Storage:
    """Return the storage for a URL. This is the last plugin asked; it refuses unknown URLs."""
    if bus is not None and not url.startswith("postgresql:"):
        raise ConfigurationError("--bus requires a postgresql: storage")
    try:
        from a2a_adapters_sql.storage import SqlStorage  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        name = url.partition(":")[0]
        extra = "sqlite" if name == "sqlite" else "postgresql"
        raise MissingExtraError(f"storage in {name}", extra) from error
    return SqlStorage(url, limits.lease_seconds, bus)


@hookimpl
def a2a_commands() -> Mapping[str, str]:
    """Return the commands for database operators."""
    module = "a2a_adapters_sql.commands"
    return {"db": f"{module}.db:db", "tasks": f"{module}.tasks:tasks"}
