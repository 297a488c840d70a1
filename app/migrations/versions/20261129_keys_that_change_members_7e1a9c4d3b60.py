"""the permission of a key to change members, which no key has yet

Revision ID: 7e1a9c4d3b60
Revises: 5b8e2d61f0c9
"""

import sqlalchemy as sa
from alembic import op

revision = "7e1a9c4d3b60"
down_revision = "5b8e2d61f0c9"
branch_labels = None
depends_on = None
needs_restart = False  # the version before makes keys without the permission, and does not ask for it


def upgrade() -> None:
    op.add_column(
        "api_key", sa.Column("changes_members", sa.Boolean(), server_default=sa.false(), nullable=False)
    )


def downgrade() -> None:
    op.drop_column("api_key", "changes_members")
