"""states of scheduled backups and their rehearsals

Revision ID: b7c4e1f0a935
Revises: e70b3d94a1f6
"""

import sqlalchemy as sa
from alembic import op

revision = "b7c4e1f0a935"
down_revision = "e70b3d94a1f6"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "backup_state",
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("since", sa.DateTime(), nullable=False),
        sa.Column("succeeded", sa.DateTime(), nullable=True),
        sa.Column("name", sa.String(1024), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Integer(), nullable=False),
        sa.Column("failed", sa.DateTime(), nullable=True),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("told", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("kind", name=op.f("pk_backup_state")),
    )


def downgrade() -> None:
    op.drop_table("backup_state")
