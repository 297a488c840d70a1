"""processes that were started for an import since it last moved are counted

Revision ID: 6c1e9a40d7b2
Revises: a90c3e51d7f2
"""

import sqlalchemy as sa
from alembic import op

revision = "6c1e9a40d7b2"
down_revision = "a90c3e51d7f2"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("link_import") as batch:
        batch.add_column(sa.Column("tries", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    with op.batch_alter_table("link_import") as batch:
        batch.drop_column("tries")
