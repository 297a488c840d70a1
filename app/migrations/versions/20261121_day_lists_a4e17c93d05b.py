"""day lists

Revision ID: a4e17c93d05b
Revises: 5b8d1e7f3a90
"""

import sqlalchemy as sa
from alembic import op

revision = "a4e17c93d05b"
down_revision = "5b8d1e7f3a90"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY = ("user_id", "is_bot", "day", "link_id")


def upgrade() -> None:
    op.create_table(
        "owner_link",
        sa.Column("user_id", ID, autoincrement=False, nullable=False),
        sa.Column("is_bot", sa.Boolean(), nullable=False),
        sa.Column("day", ID, autoincrement=False, nullable=False),
        sa.Column("link_id", ID, autoincrement=False, nullable=False),
        sa.Column("at_most", ID, nullable=False),
        sa.PrimaryKeyConstraint(*KEY, name=op.f("pk_owner_link")),
        schema="clicks",
        sqlite_with_rowid=False,
    )
    # the worker makes the lists of days whose single visits are there still
    op.execute(sa.text("UPDATE clicks.owner_day SET rolled = NULL WHERE NOT is_pruned"))


def downgrade() -> None:
    op.drop_table("owner_link", schema="clicks")
