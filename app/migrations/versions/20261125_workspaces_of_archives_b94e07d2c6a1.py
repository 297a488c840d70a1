"""workspaces of archives

Revision ID: b94e07d2c6a1
Revises: e6a93d17f0b8
"""

import sqlalchemy as sa
from alembic import op

revision = "b94e07d2c6a1"
down_revision = "e6a93d17f0b8"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
FOREIGN = "fk_archive_workspace_id_workspace"


def upgrade() -> None:
    """Archives that are there already name no workspace: they are asked for once more."""
    with op.batch_alter_table("archive", table_kwargs={"sqlite_autoincrement": True}) as batch_op:
        batch_op.add_column(sa.Column("workspace_id", ID, nullable=True))
        batch_op.add_column(sa.Column("has_secrets", sa.Boolean(), server_default=sa.true(), nullable=False))
        batch_op.create_foreign_key(op.f(FOREIGN), "workspace", ["workspace_id"], ["id"], ondelete="CASCADE")


def downgrade() -> None:
    with op.batch_alter_table("archive", table_kwargs={"sqlite_autoincrement": True}) as batch_op:
        batch_op.drop_constraint(op.f(FOREIGN), type_="foreignkey")
        batch_op.drop_column("has_secrets")
        batch_op.drop_column("workspace_id")
