"""days that something is to be done with are found by an index

Revision ID: f3a86b0d214c
Revises: 2e7a9c1f5b60
"""

import sqlalchemy as sa
from alembic import op

revision = "f3a86b0d214c"
down_revision = "2e7a9c1f5b60"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_other = "IS DISTINCT FROM" if op.get_bind().dialect.name == "postgresql" else "IS NOT"
    create("with_rows", "visits > 0")
    create("unrolled", f"rolled {is_other} visits AND visits >= 200")


def create(name: str, which: str) -> None:
    where = sa.text(which)
    op.create_index(
        f"ix_owner_day_{name}", "owner_day", ["day"], schema="clicks", sqlite_where=where, postgresql_where=where
    )


def downgrade() -> None:
    for name in ("with_rows", "unrolled"):
        op.drop_index(f"ix_owner_day_{name}", table_name="owner_day", schema="clicks")
