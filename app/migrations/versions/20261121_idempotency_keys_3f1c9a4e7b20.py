"""idempotency keys

Revision ID: 3f1c9a4e7b20
Revises: 7d55e570bc37
"""

import sqlalchemy as sa
from alembic import op

revision = "3f1c9a4e7b20"
down_revision = "7d55e570bc37"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "idempotency_key",
        sa.Column("user_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("lease_until", sa.DateTime(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_idempotency_key_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "key", name=op.f("pk_idempotency_key")),
    )
    with op.batch_alter_table("idempotency_key") as batch_op:
        batch_op.create_index(batch_op.f("ix_idempotency_key_datetime"), ["datetime"], unique=False)


def downgrade() -> None:
    op.drop_table("idempotency_key")
