"""workspaces of audit entries, and the persons behind API keys and files in histories

Revision ID: d3f0a6c82b17
Revises: c8d5f2a1b046
"""

import sqlalchemy as sa
from alembic import op

revision = "d3f0a6c82b17"
down_revision = "c8d5f2a1b046"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    # no batch: a table that is made anew on SQLite loses the triggers that keep the log append-only
    op.add_column("audit_entry", sa.Column("workspace_id", ID, nullable=True))
    op.create_index(op.f("ix_audit_entry_workspace_id_id"), "audit_entry", ["workspace_id", "id"])
    op.add_column("link_change", sa.Column("person", sa.String(320), server_default="", nullable=False))


def downgrade() -> None:
    op.drop_column("link_change", "person")
    op.drop_index(op.f("ix_audit_entry_workspace_id_id"), "audit_entry")
    op.drop_column("audit_entry", "workspace_id")
