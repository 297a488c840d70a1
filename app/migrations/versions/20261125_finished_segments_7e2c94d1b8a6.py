"""names of segments that were ingested whole

Revision ID: 7e2c94d1b8a6
Revises: 7e4b09c2d5a1
"""

import time

import sqlalchemy as sa
from alembic import op

revision = "7e2c94d1b8a6"
down_revision = "7e4b09c2d5a1"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    table = op.create_table(
        "finished_segment",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("nanoseconds", ID, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_finished_segment")),
        schema="clicks",
    )
    op.create_index(
        op.f("ix_finished_segment_nanoseconds"), "finished_segment", ["nanoseconds"], schema="clicks"
    )
    # segments that were begun before may have been finished without a record; in a new database none was
    is_new = op.get_bind().scalar(sa.text("SELECT count(*) FROM (SELECT 1 FROM clicks.counter LIMIT 1) AS one")) == 0
    op.bulk_insert(table, [{"name": "recorded since", "nanoseconds": 0 if is_new else time.time_ns()}])


def downgrade() -> None:
    op.drop_table("finished_segment", schema="clicks")
