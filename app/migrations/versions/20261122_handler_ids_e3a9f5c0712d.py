"""ids of notification handlers are never given again on SQLite

A migration made the table anew without AUTOINCREMENT: a handler got the id of a deleted one, whose place in the trash it
then took, so that deleting it failed.

Revision ID: e3a9f5c0712d
Revises: d81f4c62b07e
"""

import sqlalchemy as sa
from alembic import op

revision = "e3a9f5c0712d"
down_revision = "d81f4c62b07e"
branch_labels = None
depends_on = None

NEWEST = """
    SELECT max(id) FROM (
        SELECT id FROM notification_handler UNION ALL SELECT row_id FROM trashed WHERE kind = 'notification_handler'
    )
"""


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        return
    with op.batch_alter_table(
        "notification_handler", recreate="always", table_kwargs={"sqlite_autoincrement": True}
    ):
        pass
    op.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = 'notification_handler'"))
    op.execute(
        sa.text(f"INSERT INTO sqlite_sequence (name, seq) SELECT 'notification_handler', coalesce(({NEWEST}), 0)")  # noqa: S608
    )


def downgrade() -> None:
    """Ids that are given once do no harm to what was before."""
