"""why a destination fails, and when it was asked last

Revision ID: 4b1f7e0c9a35
Revises: f3a86b0d214c
"""

import sqlalchemy as sa
from alembic import op

revision = "4b1f7e0c9a35"
down_revision = "f3a86b0d214c"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("destination_check") as batch_op:
        batch_op.add_column(sa.Column("reason", sa.String(length=512), nullable=True))
        batch_op.add_column(sa.Column("checked_datetime", sa.DateTime(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("destination_check") as batch_op:
        batch_op.drop_column("checked_datetime")
        batch_op.drop_column("reason")
