"""Engines for database URLs."""

from __future__ import annotations

from errno import ENOSPC
from typing import TYPE_CHECKING, Any

from sqlalchemy import NullPool, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    InterfaceError,
    InternalError,
    OperationalError,
    StatementError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import create_async_engine

from a2a_adapters.contract.errors import ConfigurationError, MissingExtraError
from a2a_adapters_sql.address import kind_of
from a2a_adapters_sql.bulk import LOG_PAGES, Checkpoints, PostgresqlBulk, SqliteBulk

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.ext.asyncio import AsyncEngine

    from a2a_adapters_sql.bulk import Bulk

STATEMENT_SECONDS = 5.0
"""Time limit of a transaction or read."""

_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+psycopg"}
_SYNCHRONOUS = ("off", "normal", "full", "extra")
CONNECTIONS = 10
"""Maximum number of PostgreSQL connections per process, without those of the bus."""

_CACHE_KIB = 32 * 1024


def parse_url(url: str) -> URL:
    """Parse a database URL and select its driver.

    Raises:
        ConfigurationError: The URL is not supported; the message omits it, since it may
            contain a password.
    """
    kind = kind_of(url)
    try:
        return make_url(url).set(drivername=_DRIVERS[kind])
    except (ArgumentError, ValueError) as error:  # ValueError: the port is no number
        raise ConfigurationError(f"the storage {kind}: has an invalid URL") from error


def shown(url: URL) -> str:
    """Return a URL for logs, without its password."""
    name = url.drivername.partition("+")[0]
    return url.set(drivername=name, query={}).render_as_string(hide_password=True)


def make_engine(url: URL) -> AsyncEngine:
    """Return the engine for a URL from `parse_url`, without connecting.

    Raises:
        ConfigurationError: The options of the URL are invalid.
        MissingExtraError: The driver is not installed.
    """
    name = url.drivername.partition("+")[0]
    try:
        return _sqlite(url) if name == "sqlite" else _postgresql(url)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"storage in {name}", name) from error


def _postgresql(url: URL) -> AsyncEngine:
    return create_async_engine(
        url,
        hide_parameters=True,
        pool_size=CONNECTIONS,
        max_overflow=0,
        pool_timeout=STATEMENT_SECONDS,
        pool_pre_ping=False,
        connect_args={"connect_timeout": int(STATEMENT_SECONDS)} | _no_connect_timeout(url),
    )


def _no_connect_timeout(url: URL) -> dict[str, Any]:
    given = url.query.get("connect_timeout")
    return {"connect_timeout": given} if given else {}


def make_bulk(url: URL, engine: AsyncEngine) -> Bulk:
    """Return the bulk writer for an engine."""
    if engine.dialect.name == "postgresql":
        return PostgresqlBulk(engine)
    file, synchronous = url.set(drivername="sqlite", query={}), _synchronous(url)
    one = create_engine(file, pool_size=1, max_overflow=0, pool_timeout=STATEMENT_SECONDS)
    new = create_engine(file, poolclass=NullPool)
    for each in (one, new):
        _prepare_all(each, synchronous)
    event.listen(one, "connect", _enlarge_cache)
    return SqliteBulk(one, Checkpoints(new))


def _sqlite(url: URL) -> AsyncEngine:
    synchronous = _synchronous(url)
    engine = create_async_engine(
        url.set(query={}),
        hide_parameters=True,
        pool_reset_on_return=None,  # its user has committed or rolled back
    )
    _prepare_all(engine.sync_engine, synchronous)
    return engine


def _synchronous(url: URL) -> str:
    query = dict(url.query)
    synchronous = str(query.pop("synchronous", "normal"))
    if synchronous not in _SYNCHRONOUS or query:
        raise ConfigurationError(
            f"the storage sqlite: has a single option, ?synchronous={'|'.join(_SYNCHRONOUS)}"
        )
    return synchronous


def _prepare_all(engine: Engine, synchronous: str) -> None:
    """Configure every connection of a SQLite engine."""

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute(f"PRAGMA synchronous={synchronous}")
        cursor.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
        cursor.execute(f"PRAGMA busy_timeout={int(STATEMENT_SECONDS * 1000)}")
        cursor.close()


def _enlarge_cache(connection: Any, _record: object) -> None:
    """Enlarge the writer's cache from 2 MB, since every row changes the indexes."""
    connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}").close()


def is_data_error(error: BaseException) -> bool:
    """Return whether an error was caused by the values of a statement.

    Such errors do not indicate an outage: SQLSTATE classes 22 (data
    exception) and 54 (program limit exceeded), and errors of drivers before the request.
    """
    cause = error.orig if isinstance(error, StatementError) else error
    state = getattr(cause, "sqlstate", None) or ""
    return (
        isinstance(error, DataError)
        or isinstance(cause, (OverflowError, UnicodeError))
        or state.startswith(("22", "54"))
    )


def is_full(error: BaseException) -> bool:
    """Return whether an error says that the disk is full."""
    cause = error.orig if isinstance(error, StatementError) else error
    is_full_disk = getattr(cause, "sqlstate", None) == "53100" or "disk is full" in str(cause)
    return is_full_disk or (isinstance(cause, OSError) and cause.errno == ENOSPC)


def is_away(error: BaseException) -> bool:
    """Return whether an error indicates an outage, overload or full disk, not a bug."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    if is_data_error(error):
        return False
    away = (OperationalError, InterfaceError, InternalError, PoolTimeoutError)
    return isinstance(error, (*away, TimeoutError, OSError))
