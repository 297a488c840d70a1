"""single sign-on

Revision ID: d7f20b9c4e13
Revises: 3f8a6d20c4e9
"""

import sqlalchemy as sa
from alembic import op

revision = "d7f20b9c4e13"
down_revision = "3f8a6d20c4e9"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "oidc_identity",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("issuer", sa.String(512), nullable=False),
        sa.Column("subject", sa.String(255), nullable=True),
        sa.Column("email", sa.String(320), nullable=False),
        sa.Column("roles", sa.JSON(), nullable=False),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_oidc_identity_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_oidc_identity")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_oidc_identity_issuer_subject")),
        sa.UniqueConstraint("user_id", "issuer", name=op.f("uq_oidc_identity_user_id_issuer")),
    )
    op.create_index(op.f("ix_oidc_identity_user_id"), "oidc_identity", ["user_id"])
    op.create_table(
        "oidc_session",
        sa.Column("session_id", ID, autoincrement=False, nullable=False),
        sa.Column("identity_id", ID, nullable=False),
        sa.Column("sid", sa.String(255), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["user_session.id"],
            name=op.f("fk_oidc_session_session_id_user_session"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["identity_id"],
            ["oidc_identity.id"],
            name=op.f("fk_oidc_session_identity_id_oidc_identity"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_oidc_session")),
    )
    op.create_index(op.f("ix_oidc_session_identity_id"), "oidc_session", ["identity_id"])
    one_time("oidc_used_value")
    one_time(
        "sign_in_link",
        sa.Column("user_id", ID, autoincrement=False, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_sign_in_link_user_id_user"), ondelete="CASCADE"
        ),
        sa.UniqueConstraint("digest", name=op.f("uq_sign_in_link_digest")),
        key="user_id",
    )


def one_time(name: str, *more: sa.schema.SchemaItem, key: str = "digest") -> None:
    """A table of values that may be used once, until they expire."""
    op.create_table(
        name,
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        *more,
        sa.PrimaryKeyConstraint(key, name=op.f(f"pk_{name}")),
    )
    op.create_index(op.f(f"ix_{name}_expires_datetime"), name, ["expires_datetime"])


def downgrade() -> None:
    for name in ("sign_in_link", "oidc_used_value", "oidc_session", "oidc_identity"):
        op.drop_table(name)
