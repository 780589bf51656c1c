"""`a2a-adapters db`: maintenance of the storage database."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters.cli.exits import FAILED
from a2a_adapters.cli.terminal import echo
from a2a_adapters.contract.errors import ConfigurationError, MissingExtraError

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
    from a2a_adapters_sql.migrate import differences  # noqa: PLC0415 - an extra

    async def run() -> list[str]:
        database = open_database(storage).database
        try:
            return await database.looked_at(differences)
        finally:
            await database.release()

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
    from a2a_adapters_sql.retention import prune_all  # noqa: PLC0415 - an extra

    async def run() -> int:
        opened = open_database(storage)
        await opened.start()
        try:
            before = time.time() - days * 86_400
            return await prune_all(opened.database, int(before * 1e9))
        finally:
            await opened.aclose(1)

    echo(f"{asyncio.run(run())} tasks")


@db.command()
def export(storage: StorageOption) -> None:
    """Print all tasks as JSON lines with their agent and owner.

    Examples:
      a2a-adapters db export --storage sqlite:///tasks.db > tasks.jsonl
      a2a-adapters db export | jq .owner
    """

    async def run() -> None:
        database = open_database(storage).database
        try:
            async for line in _lines(database):
                echo(line)
        finally:
            await database.release()

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
    try:
        from a2a_adapters_sql.storage import SqlStorage  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("a database", "sqlite") from error
    return SqlStorage(url)
