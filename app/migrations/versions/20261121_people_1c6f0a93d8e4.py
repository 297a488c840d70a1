"""people: who was disabled, who was deleted, and who is invited

Revision ID: 1c6f0a93d8e4
Revises: e1a4c7093b5d
"""

import sqlalchemy as sa
from alembic import op

revision = "1c6f0a93d8e4"
down_revision = "e1a4c7093b5d"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    # no batch: that would make the table anew, and all that hangs on it would fall
    op.add_column("user", sa.Column("disabled_datetime", sa.DateTime(), nullable=True))
    op.add_column("user", sa.Column("deleted_datetime", sa.DateTime(), nullable=True))
    op.create_index(op.f("ix_user_deleted_datetime"), "user", ["deleted_datetime"])
    op.create_table(
        "invitation",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        sa.Column("used_datetime", sa.DateTime(), nullable=True),
        sa.Column("account_id", ID, nullable=True),
        sa.Column("revoked_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_invitation_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["user.id"], name=op.f("fk_invitation_account_id_user"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation")),
        sa.UniqueConstraint("digest", name=op.f("uq_invitation_digest")),
    )
    op.create_index(op.f("ix_invitation_user_id"), "invitation", ["user_id"])


def downgrade() -> None:
    op.drop_table("invitation")
    op.drop_index(op.f("ix_user_deleted_datetime"), "user")
    op.drop_column("user", "deleted_datetime")
    op.drop_column("user", "disabled_datetime")
