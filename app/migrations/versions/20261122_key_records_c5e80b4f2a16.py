"""fingerprints of the secret keys that the database was encrypted with

Revision ID: c5e80b4f2a16
Revises: 2d84b6f0c7e9
"""

import sqlalchemy as sa
from alembic import op

revision = "c5e80b4f2a16"
down_revision = "2d84b6f0c7e9"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "key_record",
        sa.Column("id", ID, nullable=False),
        sa.Column("fingerprint", sa.String(length=16), nullable=False),
        sa.Column("verifiers", sa.Text(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.Column("retired_datetime", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_key_record")),
        sa.UniqueConstraint("fingerprint", name=op.f("uq_key_record_fingerprint")),
    )


def downgrade() -> None:
    op.drop_table("key_record")
