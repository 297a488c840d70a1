"""sessions, second factors, one-time addresses for a new password

Revision ID: 8b6d04f1c2a7
Revises: 5d20e8b7c913
"""

import sqlalchemy as sa
from alembic import op

revision = "8b6d04f1c2a7"
down_revision = "5d20e8b7c913"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "user_session",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("browser", sa.String(length=64), nullable=False),
        sa.Column("system", sa.String(length=64), nullable=False),
        sa.Column("is_remembered", sa.Boolean(), nullable=False),
        sa.Column("last_datetime", sa.DateTime(), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        owner("user_session"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_session")),
        sa.UniqueConstraint("digest", name=op.f("uq_user_session_digest")),
    )
    op.create_index(op.f("ix_user_session_user_id"), "user_session", ["user_id"])
    op.create_index(op.f("ix_user_session_expires_datetime"), "user_session", ["expires_datetime"])
    op.create_table(
        "second_factor",
        sa.Column("user_id", ID, autoincrement=False, nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("last_step", ID, nullable=False),
        sa.Column("confirmed_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        owner("second_factor"),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_second_factor")),
    )
    op.create_table(
        "recovery_code",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("used_datetime", sa.DateTime(), nullable=True),
        owner("recovery_code"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recovery_code")),
        sa.UniqueConstraint("digest", name=op.f("uq_recovery_code_digest")),
    )
    op.create_index(op.f("ix_recovery_code_user_id"), "recovery_code", ["user_id"])
    op.create_table(
        "password_reset",
        sa.Column("user_id", ID, autoincrement=False, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        owner("password_reset"),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_password_reset")),
        sa.UniqueConstraint("digest", name=op.f("uq_password_reset_digest")),
    )
    op.create_index(op.f("ix_password_reset_expires_datetime"), "password_reset", ["expires_datetime"])


def owner(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_user_id_user")
    return sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=name, ondelete="CASCADE")


def downgrade() -> None:
    for table in ("password_reset", "recovery_code", "second_factor", "user_session"):
        op.drop_table(table)
