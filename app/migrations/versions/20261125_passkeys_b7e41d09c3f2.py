"""passkeys

Revision ID: b7e41d09c3f2
Revises: d3f0a6c82b17
"""

import sqlalchemy as sa
from alembic import op

revision = "b7e41d09c3f2"
down_revision = "d3f0a6c82b17"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "passkey",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("credential_id", sa.String(1364), nullable=False),
        sa.Column("public_key", sa.String(1400), nullable=False),
        sa.Column("user_handle", sa.String(86), nullable=False),
        sa.Column("rp_id", sa.String(253), nullable=False),
        sa.Column("sign_count", ID, nullable=False),
        sa.Column("last_challenge", ID, nullable=False),
        sa.Column("transports", sa.JSON(), nullable=False),
        sa.Column("aaguid", sa.String(36), nullable=False),
        sa.Column("is_backup_eligible", sa.Boolean(), nullable=False),
        sa.Column("is_backed_up", sa.Boolean(), nullable=False),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_passkey_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passkey")),
        sa.UniqueConstraint("credential_id", name=op.f("uq_passkey_credential_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_passkey_user_id"), "passkey", ["user_id"])


def downgrade() -> None:
    op.drop_table("passkey")
