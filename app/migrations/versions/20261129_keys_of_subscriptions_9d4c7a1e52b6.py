"""subscriptions name the API key that made them

Revision ID: 9d4c7a1e52b6
Revises: 7e1a9c4d3b60
"""

import sqlalchemy as sa
from alembic import op

revision = "9d4c7a1e52b6"
down_revision = "7e1a9c4d3b60"
branch_labels = None
depends_on = None
needs_restart = False  # the version before leaves the column empty

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# the audit log has the first characters of the key that made a subscription
MADE_BY = """
    UPDATE notification_handler SET api_key_id = (
        SELECT max(api_key.id) FROM api_key
        JOIN audit_entry ON audit_entry.key_prefix = api_key.prefix
        WHERE audit_entry.action = 'handler.created' AND audit_entry.object_id = notification_handler.id
        AND audit_entry.workspace_id = notification_handler.workspace_id
        AND api_key.workspace_id = notification_handler.workspace_id
        AND api_key.user_id = notification_handler.user_id
    ) WHERE type = 'subscription'
"""


def upgrade() -> None:
    op.add_column("notification_handler", sa.Column("api_key_id", ID, nullable=True))
    op.execute(MADE_BY)


def downgrade() -> None:
    with op.batch_alter_table("notification_handler") as table:
        table.drop_column("api_key_id")
