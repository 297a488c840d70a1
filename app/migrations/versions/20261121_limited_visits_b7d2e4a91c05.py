"""limited visits

Revision ID: b7d2e4a91c05
Revises: 3f1c9a4e7b20
"""

import sqlalchemy as sa
from alembic import op

revision = "b7d2e4a91c05"
down_revision = "3f1c9a4e7b20"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "limit_counter",
        sa.Column("link_id", ID, autoincrement=False, nullable=False),
        sa.Column("clicks", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["link_id"], ["link.id"], name=op.f("fk_limit_counter_link_id_link"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("link_id", name=op.f("pk_limit_counter")),
    )
    op.create_table(
        "limited_visit",
        sa.Column("id", ID, nullable=False),
        sa.Column("version", sa.String(length=8), nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_limited_visit")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "limited_taken",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_limited_taken")),
        schema="clicks",
    )


def downgrade() -> None:
    op.drop_table("limited_taken", schema="clicks")
    op.drop_table("limited_visit")
    op.drop_table("limit_counter")
