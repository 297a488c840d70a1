"""clicks, their sums and the feed call a workspace a workspace, and no sign says what an id is of

Revision ID: b1e6c40d97a3
Revises: 4f0b7d92c6a1
"""

import sqlalchemy as sa
from alembic import op

revision = "b1e6c40d97a3"
down_revision = "4f0b7d92c6a1"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TABLES = ("click", "event_entry", "owner_day", "owner_link", "owner_quarter", "owner_value")
INDEXES = (("click", "time_ms"), ("event_entry", "position"), ("event_entry", "type", "position"))
MOVED = "UPDATE clicks.event_entry SET link_id = NULL WHERE type = 'domain.moved'"


def upgrade() -> None:
    rename("user_id", "workspace_id")
    op.execute(MOVED)
    set_seen_aside()
    make_seen(sa.Column("is_workspace", sa.Boolean(), nullable=False), "scope_id")
    op.execute(
        "INSERT INTO clicks.seen (day, visitor, is_workspace, scope_id, quarter)"
        " SELECT day, visitor, scope < 0, abs(scope), quarter FROM clicks.seen_before"
    )
    op.execute("DROP TABLE clicks.seen_before")


def downgrade() -> None:
    rename("workspace_id", "user_id")
    set_seen_aside()
    make_seen(None, "scope")
    op.execute(
        "INSERT INTO clicks.seen (day, visitor, scope, quarter)"
        " SELECT day, visitor, CASE WHEN is_workspace THEN -scope_id ELSE scope_id END, quarter"
        " FROM clicks.seen_before"
    )
    op.execute("DROP TABLE clicks.seen_before")


def rename(before: str, after: str) -> None:
    """Rename the column and the indexes named after it. SQLite renames no index, so it makes these anew."""
    for table in TABLES:
        op.execute(f"ALTER TABLE clicks.{table} RENAME COLUMN {before} TO {after}")
    for table, *columns in INDEXES:
        old, new = (f"ix_{table}_{'_'.join((name, *columns))}" for name in (before, after))
        if op.get_bind().dialect.name == "postgresql":
            op.execute(f"ALTER INDEX clicks.{old} RENAME TO {new}")
        else:
            op.drop_index(old, table, schema="clicks")
            op.create_index(new, table, [after, *columns], schema="clicks")


def set_seen_aside() -> None:
    op.rename_table("seen", "seen_before", schema="clicks")
    if op.get_bind().dialect.name == "postgresql":  # a renamed table's key keeps its name
        op.execute("ALTER INDEX clicks.pk_seen RENAME TO pk_seen_before")


def make_seen(kind: sa.Column | None, scope: str) -> None:
    key = ["day", "visitor", *([kind.name] if kind is not None else []), scope]
    op.create_table(
        "seen",
        sa.Column("day", ID, autoincrement=False, nullable=False),
        sa.Column("visitor", sa.String(length=16), nullable=False),
        *([kind] if kind is not None else []),
        sa.Column(scope, ID, autoincrement=False, nullable=False),
        sa.Column("quarter", ID, nullable=False),
        sa.PrimaryKeyConstraint(*key, name=op.f("pk_seen")),
        schema="clicks",
        postgresql_with={"autovacuum_vacuum_scale_factor": 0.05},
        sqlite_with_rowid=False,
    )
