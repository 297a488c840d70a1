"""keep what an import does not read, and in which order its dates are

Revision ID: 5f2ac07d91e3
Revises: b7d2c64e19f5
"""

import sqlalchemy as sa
from alembic import op

revision = "5f2ac07d91e3"
down_revision = "b7d2c64e19f5"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("link_import") as batch_op:
        batch_op.add_column(sa.Column("left_out", sa.JSON(), server_default="[]", nullable=False))
        batch_op.add_column(sa.Column("date_order", sa.String(length=8), server_default="", nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("link_import") as batch_op:
        batch_op.drop_column("date_order")
        batch_op.drop_column("left_out")
