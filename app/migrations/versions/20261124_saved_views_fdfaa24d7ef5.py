"""saved views of the list of links

Revision ID: fdfaa24d7ef5
Revises: 3b9f60d8e2a1
"""

import sqlalchemy as sa
from alembic import op

revision = "fdfaa24d7ef5"
down_revision = "3b9f60d8e2a1"
branch_labels = None
depends_on = None


def upgrade() -> None:
    whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "saved_view",
        sa.Column("id", whole, nullable=False),
        sa.Column("user_id", whole, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=256), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_saved_view_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_view")),
        sa.UniqueConstraint("user_id", "key", name=op.f("uq_saved_view_user_id_key")),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("saved_view")
