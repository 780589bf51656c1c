"""`INSERT ... ON CONFLICT`, which both databases have under the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.dialects import postgresql, sqlite

if TYPE_CHECKING:
    from sqlalchemy import Table


def upsert(dialect: str, table: Table) -> sqlite.Insert:
    """Return an insert that can be told what to do on a conflict."""
    kind: Any = sqlite
    if dialect == "postgresql":
        kind = postgresql
    insert: sqlite.Insert = kind.insert(table)
    return insert
