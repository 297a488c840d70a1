"""counts of rate limits and the day's salt, which machines share

Revision ID: a41c7e90d2b6
Revises: 7e4c1a90b2d6
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "a41c7e90d2b6"
down_revision = "7e4c1a90b2d6"
branch_labels = None
depends_on = None

HITS = sa.JSON().with_variant(postgresql.ARRAY(sa.Float()), "postgresql")


def upgrade() -> None:
    # neither is to be in PostgreSQL's log, in its archives or on its standbys
    unlogged = ["UNLOGGED"] if op.get_bind().dialect.name == "postgresql" else []
    op.create_table(
        "rate_limit_count",
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("hits", HITS, nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("expires", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_rate_limit_count")),
        prefixes=unlogged,
    )
    op.create_index(op.f("ix_rate_limit_count_expires"), "rate_limit_count", ["expires"])
    op.create_table(
        "daily_salt",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("salt", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_daily_salt")),
        prefixes=unlogged,
    )


def downgrade() -> None:
    op.drop_table("daily_salt")
    op.drop_table("rate_limit_count")
