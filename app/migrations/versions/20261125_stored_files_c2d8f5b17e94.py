"""pictures in the database, for machines that share no disk

Revision ID: c2d8f5b17e94
Revises: a41c7e90d2b6
"""

import sqlalchemy as sa
from alembic import op

revision = "c2d8f5b17e94"
down_revision = "a41c7e90d2b6"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "stored_content",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_stored_content")),
    )
    op.create_table(
        "stored_file",
        sa.Column("path", sa.String(120), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("row_id", sa.BigInteger(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["digest"], ["stored_content.digest"], name=op.f("fk_stored_file_digest_stored_content")
        ),
        sa.PrimaryKeyConstraint("path", name=op.f("pk_stored_file")),
    )
    op.create_index(op.f("ix_stored_file_digest"), "stored_file", ["digest"])
    op.create_index(op.f("ix_stored_file_row_id"), "stored_file", ["row_id"])


def downgrade() -> None:
    op.drop_table("stored_file")
    op.drop_table("stored_content")
