"""roll-ups

Revision ID: c41d9e07a6b3
Revises: 4c8e1f60d2a9
"""

import sqlalchemy as sa
from alembic import op

revision = "c41d9e07a6b3"
down_revision = "4c8e1f60d2a9"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TABLES = ("agent", "link_quarter", "owner_quarter", "seen", "owner_day", "owner_value", "link_value")
VALUE_KEY = ("dimension", "is_bot", "day", "value_id", "path_id")
COUNTS = ("pageviews", "visitors")


def key(name: str) -> sa.Column:
    if name in {"is_bot", "visitor"}:
        return sa.Column(name, sa.Boolean() if name == "is_bot" else sa.String(length=16), nullable=False)
    return sa.Column(name, ID, autoincrement=False, nullable=False)


def create(name: str, keys: tuple[str, ...], *columns: sa.Column) -> None:
    primary = sa.PrimaryKeyConstraint(*keys, name=op.f(f"pk_{name}"))
    op.create_table(
        name, *map(key, keys), *columns, primary, schema="clicks", sqlite_with_rowid=name == "agent"
    )


def counts() -> list[sa.Column]:
    return [sa.Column(name, ID, nullable=False) for name in COUNTS]


def upgrade() -> None:
    words = ("device_type_id", "os_name_id", "browser_name_id")
    create("agent", ("id",), *(sa.Column(name, ID, nullable=True) for name in words))
    create("link_quarter", ("link_id", "is_bot", "quarter"), *counts())
    create("owner_quarter", ("user_id", "is_bot", "quarter"), *counts())
    create("seen", ("day", "visitor", "scope"), sa.Column("quarter", ID, nullable=False))
    create(
        "owner_day",
        ("user_id", "day"),
        sa.Column("visits", ID, nullable=False),
        sa.Column("rolled", ID, nullable=True),
        sa.Column("is_pruned", sa.Boolean(), nullable=False),
    )
    create("owner_value", ("user_id", *VALUE_KEY), *counts())
    create("link_value", ("link_id", *VALUE_KEY), *counts())
    with op.batch_alter_table("click", schema="clicks") as batch_op:
        batch_op.create_index(batch_op.f("ix_click_user_id_time_ms"), ["user_id", "time_ms"], unique=False)
    # what is there already is rolled up by the worker, from here to there
    op.execute(
        "INSERT INTO clicks.position (name, counters_offset, rows_offset) SELECT 'roll-ups', 0, newest"
        " FROM (SELECT max(id) AS newest FROM clicks.click) AS clicked WHERE newest IS NOT NULL"
    )


def downgrade() -> None:
    op.execute("DELETE FROM clicks.position WHERE name = 'roll-ups'")
    with op.batch_alter_table("click", schema="clicks") as batch_op:
        batch_op.drop_index(batch_op.f("ix_click_user_id_time_ms"))
    for name in reversed(TABLES):
        op.drop_table(name, schema="clicks")
