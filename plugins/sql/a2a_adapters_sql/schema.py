"""The tables. Alembic migrations create them; a test compares both.

A row belongs to an agent and a caller, its owner. Protocol objects are stored as
bytes, which is lossless; searchable fields have their own columns.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    String,
    Table,
    Text,
    literal_column,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeDecorator

if TYPE_CHECKING:
    from typing import TypeAlias

    from sqlalchemy import ColumnElement, Dialect, FromClause

    _Value: TypeAlias = str | ColumnElement[str]

_LONGEST_KEY = 128
"""Maximum key length in bytes; PostgreSQL limits index rows to 2,700."""

_HASHED = "#"

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""Characters that PostgreSQL cannot store: NUL and unpaired surrogates."""

metadata = MetaData()


@lru_cache(maxsize=4096)
def key(text: str) -> str:
    """Return a storable text for any string: itself or its hash."""
    encoded = text.encode(errors="surrogatepass")
    is_plain = _UNSTORABLE.search(text) is None and not text.startswith(_HASHED)
    if is_plain and len(encoded) <= _LONGEST_KEY:
        return text
    return _HASHED + hashlib.sha256(encoded).hexdigest()


class Key(TypeDecorator[str]):
    """A string in a key, stored as it is or as its hash, ordered by code points."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Text:
        """Return the column type, with locale-independent ordering."""
        return Text(collation="C" if dialect.name == "postgresql" else None)

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Return the stored value."""
        return None if value is None else key(value)


tasks = Table(
    "a2a_tasks",
    metadata,
    Column("agent", Key),
    Column("owner", Key),
    Column("id", Key),
    Column("context", Key, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("changed", BigInteger, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("previous", BigInteger, nullable=False),
    Column("process", String(36)),
    Column("epoch", Integer, nullable=False, default=0),
    Column("owner_name", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("id", "agent", "owner"),
    Index("a2a_tasks_newest", "agent", "owner", "changed", "id"),
    Index("a2a_tasks_context", "agent", "owner", "context", "changed", "id"),
    Index("a2a_tasks_state", "agent", "owner", "state", "changed", "id"),
    Index("a2a_tasks_process", "process"),
    Index("a2a_tasks_changed", "agent", "changed"),
)
_is_open = tasks.c.process.is_not(None)
Index("a2a_tasks_open", tasks.c.context, postgresql_where=_is_open, sqlite_where=_is_open)
is_unowned = tasks.c.process.is_not_distinct_from(literal_column("''"))
"""Whether any process can accept the input a task waits for; worded exactly as in the partial
index, which no other index replaces: see `is_task`."""
Index(
    "a2a_tasks_waiting",
    tasks.c.agent,
    tasks.c.changed,
    postgresql_where=is_unowned,
    sqlite_where=is_unowned,
)

messages = Table(
    "a2a_messages",
    metadata,
    Column("agent", Key, primary_key=True),
    Column("owner", Key, primary_key=True),
    Column("id", Key, primary_key=True),
    Column("task", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("accepted", BigInteger, nullable=False),
    Column("acknowledged", Boolean, nullable=False, default=False),
    Index("a2a_messages_accepted", "accepted"),
)

processes = Table(
    "a2a_processes",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("name", Text, nullable=False),
    Column("lease_until", Float, nullable=False),
    Column("taken", Text),
    Column("graces", SmallInteger),
)

states = Table(
    "a2a_states",
    metadata,
    Column("agent", Key, primary_key=True),
    Column("owner", Key, primary_key=True),
    Column("context", Key, primary_key=True),
    Column("kind", Key, primary_key=True),
    Column("changed", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("a2a_states_changed", "changed"),
)

push_configs = Table(
    "a2a_push_configs",
    metadata,
    Column("agent", Key, primary_key=True),
    Column("task", Key, primary_key=True),
    Column("owner", Key, primary_key=True),
    Column("config", Key, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

push_outbox = Table(
    "a2a_push_outbox",
    metadata,
    Column("agent", Key, primary_key=True),
    Column("task", Key, primary_key=True),
    Column("owner", Key, primary_key=True),
    Column("config", Key, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("process", String(36), nullable=False),
    Column("task_name", LargeBinary, nullable=False),
    Column("owner_name", LargeBinary, nullable=False),
    Column("config_name", LargeBinary, nullable=False),
    Index("a2a_push_outbox_process", "agent", "process"),
)


def is_task(
    agent: _Value,
    owner: _Value,
    task_id: _Value,
    *,
    table: FromClause = tasks,
) -> list[ColumnElement[bool]]:
    """Return the conditions for the row of a task.

    PostgreSQL must search by id, even with outdated statistics: no index supports IS NOT
    DISTINCT FROM. With agent and owner compared by `=`, it reads all tasks of an owner from an
    index on them until a new table is analyzed.
    """
    columns = table.c
    return [
        columns.id == task_id,
        columns.agent.is_not_distinct_from(agent),
        columns.owner.is_not_distinct_from(owner),
    ]


def upsert(dialect: str, table: Table) -> sqlite.Insert:
    """Return an `INSERT` that supports `ON CONFLICT` in both databases."""
    kind: Any = sqlite
    if dialect == "postgresql":
        kind = postgresql
    insert: sqlite.Insert = kind.insert(table)
    return insert
