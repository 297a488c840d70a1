"""contents of pictures in a bucket

Revision ID: c8d5f2a1b046
Revises: b7c4e1f0a935
"""

import sqlalchemy as sa
from alembic import op

revision = "c8d5f2a1b046"
down_revision = "b7c4e1f0a935"
branch_labels = None
depends_on = None
needs_restart = False  # contents may be missing only once MEDIA_URL is set, which the version before lacks


def upgrade() -> None:
    with op.batch_alter_table("stored_content") as batch:
        batch.add_column(sa.Column("object_name", sa.String(100), nullable=True))
        batch.alter_column("content", existing_type=sa.LargeBinary(), nullable=True)


def downgrade() -> None:
    with op.batch_alter_table("stored_content") as batch:
        batch.alter_column("content", existing_type=sa.LargeBinary(), nullable=False)
        batch.drop_column("object_name")
