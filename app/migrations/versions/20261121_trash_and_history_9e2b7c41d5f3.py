"""trash and history

Revision ID: 9e2b7c41d5f3
Revises: c41d9e07a6b3
"""

import sqlalchemy as sa
from alembic import op

revision = "9e2b7c41d5f3"
down_revision = "c41d9e07a6b3"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "trashed",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("row_id", ID, nullable=False),
        sa.Column("batch", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=1024), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("rows", sa.Text(), nullable=False),
        sa.Column("deleted_datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_trashed_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trashed")),
        sa.UniqueConstraint("kind", "row_id", name=op.f("uq_trashed_kind_row_id")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("trashed") as batch_op:
        batch_op.create_index(batch_op.f("ix_trashed_batch"), ["batch"], unique=False)
        batch_op.create_index(batch_op.f("ix_trashed_deleted_datetime"), ["deleted_datetime"], unique=False)
        batch_op.create_index(batch_op.f("ix_trashed_user_id_id"), ["user_id", "id"], unique=False)
    op.create_table(
        "link_change",
        sa.Column("id", ID, nullable=False),
        sa.Column("link_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("way", sa.String(length=16), nullable=False),
        sa.Column("who", sa.String(length=128), nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_link_change_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_link_change")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("link_change") as batch_op:
        batch_op.create_index(batch_op.f("ix_link_change_link_id_id"), ["link_id", "id"], unique=False)
        batch_op.create_index(batch_op.f("ix_link_change_user_id"), ["user_id"], unique=False)


def downgrade() -> None:
    op.drop_table("link_change")
    op.drop_table("trashed")
