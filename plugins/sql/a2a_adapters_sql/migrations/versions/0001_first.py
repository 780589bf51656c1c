"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def _key(name: str, **options: object) -> sa.Column[str]:
    collation = "C" if op.get_bind().dialect.name == "postgresql" else None
    return sa.Column(name, sa.Text(collation=collation), **options)  # type: ignore[arg-type]


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "a2a_tasks",
        _key("agent"),
        _key("owner"),
        _key("id"),
        _key("context", nullable=False),
        sa.Column("state", sa.SmallInteger, nullable=False),
        sa.Column("changed", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("previous", sa.BigInteger, nullable=False),
        sa.Column("process", sa.String(36)),
        sa.Column("epoch", sa.Integer, nullable=False),
        sa.Column("owner_name", sa.LargeBinary, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("id", "agent", "owner", name="a2a_tasks_pkey"),
    )
    owned = ["agent", "owner"]
    newest = ["changed", "id"]
    op.create_index("a2a_tasks_newest", "a2a_tasks", [*owned, *newest])
    op.create_index("a2a_tasks_context", "a2a_tasks", [*owned, "context", *newest])
    op.create_index("a2a_tasks_state", "a2a_tasks", [*owned, "state", *newest])
    op.create_index("a2a_tasks_process", "a2a_tasks", ["process"])
    op.create_index("a2a_tasks_changed", "a2a_tasks", ["agent", "changed"])
    is_open = sa.text("process IS NOT NULL")
    op.create_index(
        "a2a_tasks_open",
        "a2a_tasks",
        ["context"],
        postgresql_where=is_open,
        sqlite_where=is_open,
    )
    op.create_index(
        "a2a_tasks_waiting",
        "a2a_tasks",
        ["agent", "changed"],
        postgresql_where=sa.text("process IS NOT DISTINCT FROM ''"),
        sqlite_where=sa.text("process IS ''"),
    )
    op.create_table(
        "a2a_messages",
        _key("agent", primary_key=True),
        _key("owner", primary_key=True),
        _key("id", primary_key=True),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("accepted", sa.BigInteger, nullable=False),
        sa.Column("acknowledged", sa.Boolean, nullable=False),
    )
    op.create_index("a2a_messages_accepted", "a2a_messages", ["accepted"])
    op.create_table(
        "a2a_processes",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("lease_until", sa.Float, nullable=False),
        sa.Column("taken", sa.Text),
        sa.Column("graces", sa.SmallInteger),
    )
    op.create_table(
        "a2a_states",
        _key("agent", primary_key=True),
        _key("owner", primary_key=True),
        _key("context", primary_key=True),
        _key("kind", primary_key=True),
        sa.Column("changed", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("a2a_states_changed", "a2a_states", ["changed"])
    op.create_table(
        "a2a_push_configs",
        _key("agent", primary_key=True),
        _key("task", primary_key=True),
        _key("owner", primary_key=True),
        _key("config", primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "a2a_push_outbox",
        _key("agent", primary_key=True),
        _key("task", primary_key=True),
        _key("owner", primary_key=True),
        _key("config", primary_key=True),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("process", sa.String(36), nullable=False),
        sa.Column("task_name", sa.LargeBinary, nullable=False),
        sa.Column("owner_name", sa.LargeBinary, nullable=False),
        sa.Column("config_name", sa.LargeBinary, nullable=False),
    )
    op.create_index("a2a_push_outbox_process", "a2a_push_outbox", ["agent", "process"])
