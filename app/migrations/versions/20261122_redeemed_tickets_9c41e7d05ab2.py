"""tickets of limited links that were used up

Revision ID: 9c41e7d05ab2
Revises: 7c3d9e15a4b8
"""

import sqlalchemy as sa
from alembic import op

revision = "9c41e7d05ab2"
down_revision = "7c3d9e15a4b8"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "redeemed_ticket",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_redeemed_ticket")),
    )
    with op.batch_alter_table("redeemed_ticket") as batch_op:
        batch_op.create_index(
            batch_op.f("ix_redeemed_ticket_expires_datetime"), ["expires_datetime"], unique=False
        )


def downgrade() -> None:
    op.drop_table("redeemed_ticket")
