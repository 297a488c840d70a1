"""changes of many links that are undone as one

Revision ID: c5a7e2f81d46
Revises: 6c1d93e7f5b8
"""

import sqlalchemy as sa
from alembic import op

revision = "c5a7e2f81d46"
down_revision = "6c1d93e7f5b8"
branch_labels = None
depends_on = None

BATCHED = sa.text("batch IS NOT NULL")


def upgrade() -> None:
    op.add_column("link_change", sa.Column("batch", sa.String(length=32)))
    op.create_index(
        "ix_link_change_batch",
        "link_change",
        ["batch", "link_id"],
        sqlite_where=BATCHED,
        postgresql_where=BATCHED,
    )


def downgrade() -> None:
    op.drop_index("ix_link_change_batch", "link_change")
    op.drop_column("link_change", "batch")
