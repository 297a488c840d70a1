"""who asked for a new password, whether there is such an account or not

Revision ID: 2e7a9c1f5b60
Revises: 8b6d04f1c2a7
"""

import sqlalchemy as sa
from alembic import op

revision = "2e7a9c1f5b60"
down_revision = "8b6d04f1c2a7"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "password_request",
        sa.Column("id", ID, nullable=False),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_password_request")),
    )


def downgrade() -> None:
    op.drop_table("password_request")
