"""list rows of imports that became links which their owners must look at

Revision ID: b7d2c64e19f5
Revises: e3a9f5c0712d
"""

import sqlalchemy as sa
from alembic import op

revision = "b7d2c64e19f5"
down_revision = "e3a9f5c0712d"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("failed_row") as batch_op:
        batch_op.add_column(sa.Column("is_made", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    # what is listed here did not fail: without the column it would be told as if it had
    op.execute("DELETE FROM failed_row WHERE is_made")
    with op.batch_alter_table("failed_row") as batch_op:
        batch_op.drop_column("is_made")
