"""`a2a-adapters db`: look after a storage that is a database."""

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

db = typer.Typer(help="Look after a storage that is a database.", no_args_is_help=True)

StorageOption = Annotated[
    str,
    typer.Option(envvar="A2A_ADAPTERS_STORAGE", help="The storage's URL.", show_default=False),
]


@db.command()
def upgrade(storage: StorageOption) -> None:
    """Make the tables, or bring them up to date. Servers do so when they start."""

    async def run() -> None:
        opened = open_database(storage)
        await opened.start()
        await opened.aclose(1)

    asyncio.run(run())


@db.command()
def check(storage: StorageOption) -> None:
    """Tell whether the tables are as this release has them; fail if they are not."""
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
    days: Annotated[float, typer.Option(min=0, help="How old what is forgotten is at least.")] = 30,
) -> None:
    """Forget tasks that ended, and conversations last used, so many days ago."""
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
    """Print every task as a line of JSON, with its agent and its owner."""

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

    from a2a_adapters.protocol.wire import to_dict  # noqa: PLC0415

    async for agent, owner, body in database.every_task():
        task = to_dict(Task.FromString(body))
        yield json.dumps({"agent": agent, "owner": owner, "task": task}, ensure_ascii=False)


def open_database(url: str) -> SqlStorage:
    """Return a storage that is a database; nothing is connected yet.

    Raises:
        ConfigurationError: The URL names no database.
        MissingExtraError: Its driver is not installed.
    """
    if url.startswith("memory"):
        raise ConfigurationError("memory: is no database; name one by --storage")
    try:
        from a2a_adapters_sql.storage import SqlStorage  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("a database", "sqlite") from error
    return SqlStorage(url)
