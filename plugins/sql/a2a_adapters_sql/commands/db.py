"""`a2a-adapters db`: maintenance of the storage database."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters.cli.exits import FAILED
from a2a_adapters.cli.terminal import echo
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_sql import storage_at
from a2a_adapters_sql.address import kind_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a_adapters_sql.database import Database
    from a2a_adapters_sql.storage import SqlStorage

db = typer.Typer(help="Maintain the storage database.", no_args_is_help=True)

StorageOption = Annotated[
    str,
    typer.Option(envvar="A2A_ADAPTERS_STORAGE", help="URL of the storage.", show_default=False),
]


@db.command()
def upgrade(storage: StorageOption) -> None:
    """Create or migrate the tables. Servers do this at startup.

    Examples:
      a2a-adapters db upgrade --storage sqlite:///tasks.db
      A2A_ADAPTERS_STORAGE=postgresql://db/agents a2a-adapters db upgrade
    """

    async def run() -> None:
        opened = open_database(storage)
        await opened.start()
        await opened.aclose(1)

    asyncio.run(run())


@db.command()
def check(storage: StorageOption) -> None:
    """Check that the tables match this release; exit with 1 if they do not.

    Examples:
      a2a-adapters db check --storage sqlite:///tasks.db
      A2A_ADAPTERS_STORAGE=postgresql://db/agents a2a-adapters db check
    """

    async def run() -> list[str]:
        async with existing(storage) as opened:
            from a2a_adapters_sql.migrate import differences  # noqa: PLC0415 - an extra

            return await opened.database.looked_at(differences)

    for difference in (found := asyncio.run(run())):
        echo(difference)
    if found:
        raise typer.Exit(FAILED)


@db.command()
def prune(
    storage: StorageOption,
    days: Annotated[float, typer.Option(min=0, help="Minimum age in days.")] = 30,
) -> None:
    """Delete tasks that ended, and conversations last used, before a number of days.

    Examples:
      a2a-adapters db prune --storage sqlite:///tasks.db --days 30
      A2A_ADAPTERS_STORAGE=postgresql://db/agents a2a-adapters db prune --days 30
    """

    async def run() -> int:
        async with existing(storage, start=True) as opened:
            from a2a_adapters_sql.retention import prune_all  # noqa: PLC0415 - an extra

            before = time.time() - days * 86_400
            return await prune_all(opened.database, int(before * 1e9))

    echo(f"{asyncio.run(run())} tasks")


@db.command()
def export(storage: StorageOption) -> None:
    """Print all tasks as JSON lines with their agent and owner.

    Examples:
      a2a-adapters db export --storage sqlite:///tasks.db > tasks.jsonl
      a2a-adapters db export | jq .owner
    """

    async def run() -> None:
        async with existing(storage) as opened:
            async for line in _lines(opened.database):
                echo(line)

    asyncio.run(run())


async def _lines(database: Database) -> AsyncGenerator[str]:
    from a2a.types import Task  # noqa: PLC0415 - it costs a second that --help need not wait

    from a2a_adapters.protocol.encoding import to_dict  # noqa: PLC0415

    async for agent, owner, body in database.every_task():
        task = to_dict(Task.FromString(body))
        yield json.dumps({"agent": agent, "owner": owner, "task": task}, ensure_ascii=False)


def open_database(url: str) -> SqlStorage:
    """Return the database storage for a URL, without connecting.

    Raises:
        ConfigurationError: The URL is not that of a database.
        MissingExtraError: The driver is not installed.
    """
    if url.startswith("memory"):
        raise ConfigurationError("memory: is not a database; pass one with --storage")
    return storage_at(url)


@asynccontextmanager
async def existing(url: str, *, start: bool = False) -> AsyncGenerator[SqlStorage]:
    """Open a database with tables, and create neither.

    Args:
        url: The URL of the storage.
        start: Whether to migrate the tables and take part in the work, as servers do.

    Raises:
        ConfigurationError: There is no such database, or it has no tables.
        MissingExtraError: The driver is not installed.
    """
    opened = open_database(url)
    from a2a_adapters_sql.schema_version import current_version  # noqa: PLC0415 - an extra

    database = opened.database
    hint = "check --storage; `a2a-adapters db upgrade` creates the tables"
    file = database.engine.url.database or ""
    if kind_of(url) == "sqlite" and not Path(file).is_file():  # noqa: ASYNC240
        raise ConfigurationError(f"there is no file {file}: {hint}")
    async with AsyncExitStack() as stack:
        stack.push_async_callback(database.release)
        if await database.looked_at(current_version) is None:
            raise ConfigurationError(f"{database.name} has no tables of a2a-adapters: {hint}")
        if start:
            await opened.start()
            stack.pop_all()
            stack.push_async_callback(opened.aclose, 1)
        yield opened
