"""indexes that skip and filter in long lists of links without reading the links

Revision ID: 8a3e5d07c1f4
Revises: 4d8e2b71c6f0
"""

from alembic import op

revision = "8a3e5d07c1f4"
down_revision = "4d8e2b71c6f0"
branch_labels = None
depends_on = None
needs_restart = False  # the version before asks the same of other indexes

FILTERED = (
    *("workspace_id", "id", "is_enabled", "project_id", "domain_id", "targeting_type"),
    *("schedule", "start_date", "end_date", "clicks_limit", "clicks_limit_confirmation_is_enabled"),
    *("sensitive_content", "app_linking_is_enabled", "cloaking_is_enabled", "datetime"),
)
ORDERS = ("url", "datetime", "last_datetime")
NULLS_FIRST = {"last_datetime": "NULLS FIRST"}  # as lists have them; SQLite always does


def upgrade() -> None:
    for order in ORDERS:
        name = f"ix_link_workspace_id_{order}_id"
        op.create_index(name, "link", ["workspace_id", order, "id"], postgresql_ops=NULLS_FIRST)
    # of several indexes that serve a query as well SQLite takes the one that was made last, and this one has
    # the rows in the order of the table
    op.create_index("ix_link_filtered", "link", list(FILTERED))
    op.drop_index("ix_link_workspace_id_id", "link")


def downgrade() -> None:
    op.create_index("ix_link_workspace_id_id", "link", ["workspace_id", "id"])
    op.drop_index("ix_link_filtered", "link")
    for order in ORDERS:
        op.drop_index(f"ix_link_workspace_id_{order}_id", "link")
