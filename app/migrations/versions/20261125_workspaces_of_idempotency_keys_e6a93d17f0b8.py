"""workspaces of idempotency keys

Revision ID: e6a93d17f0b8
Revises: d7f20b9c4e13
"""

import sqlalchemy as sa
from alembic import op

revision = "e6a93d17f0b8"
down_revision = "d7f20b9c4e13"
branch_labels = None
depends_on = None
needs_restart = True  # the version before makes rows without a workspace

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
PRIMARY, FOREIGN = "pk_idempotency_key", "fk_idempotency_key_workspace_id_workspace"
OWN = (
    "UPDATE idempotency_key SET workspace_id = (SELECT workspace_id FROM workspace_member"
    " WHERE workspace_member.user_id = idempotency_key.user_id ORDER BY workspace_member.id LIMIT 1)"
)
# of two workspaces' rows with one key, the second has no place
SECOND = (
    "DELETE FROM idempotency_key WHERE EXISTS (SELECT 1 FROM idempotency_key first"
    " WHERE first.user_id = idempotency_key.user_id AND first.key = idempotency_key.key"
    " AND first.workspace_id < idempotency_key.workspace_id)"
)


def upgrade() -> None:
    op.add_column("idempotency_key", sa.Column("workspace_id", ID, nullable=True))
    op.execute(OWN)
    with op.batch_alter_table("idempotency_key") as batch_op:
        batch_op.alter_column("workspace_id", existing_type=ID, nullable=False)
        batch_op.drop_constraint(PRIMARY, type_="primary")
        batch_op.create_primary_key(PRIMARY, ["user_id", "workspace_id", "key"])
        batch_op.create_foreign_key(FOREIGN, "workspace", ["workspace_id"], ["id"], ondelete="CASCADE")
        batch_op.create_index(batch_op.f("ix_idempotency_key_workspace_id"), ["workspace_id"])


def downgrade() -> None:
    op.execute(SECOND)
    with op.batch_alter_table("idempotency_key") as batch_op:
        batch_op.drop_index(batch_op.f("ix_idempotency_key_workspace_id"))
        batch_op.drop_constraint(FOREIGN, type_="foreignkey")
        batch_op.drop_constraint(PRIMARY, type_="primary")
        batch_op.create_primary_key(PRIMARY, ["user_id", "key"])
        batch_op.drop_column("workspace_id")
