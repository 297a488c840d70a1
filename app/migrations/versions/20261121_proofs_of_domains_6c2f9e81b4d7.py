"""proofs of domains are looked for again

Revision ID: 6c2f9e81b4d7
Revises: a4e17c93d05b
"""

import sqlalchemy as sa
from alembic import op

revision = "6c2f9e81b4d7"
down_revision = "a4e17c93d05b"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("domain") as batch_op:
        batch_op.add_column(sa.Column("checked_datetime", sa.DateTime(), nullable=True))
        batch_op.add_column(sa.Column("unproven_since", sa.DateTime(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("domain") as batch_op:
        batch_op.drop_column("unproven_since")
        batch_op.drop_column("checked_datetime")
