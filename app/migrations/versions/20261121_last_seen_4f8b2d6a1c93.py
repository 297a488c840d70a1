"""when a user was last seen

Revision ID: 4f8b2d6a1c93
Revises: 4b1f7e0c9a35
"""

import sqlalchemy as sa
from alembic import op

revision = "4f8b2d6a1c93"
down_revision = "4b1f7e0c9a35"
branch_labels = None
depends_on = None

USER = sa.table("user", sa.column("id"), sa.column("seen_datetime"))
SESSION = sa.table("user_session", sa.column("user_id"), sa.column("last_datetime"))


def upgrade() -> None:
    # no batch: that would make the table anew, and all that hangs on it would fall
    op.add_column("user", sa.Column("seen_datetime", sa.DateTime(), nullable=True))
    last = sa.select(sa.func.max(SESSION.c.last_datetime)).where(SESSION.c.user_id == USER.c.id)
    op.execute(sa.update(USER).values(seen_datetime=last.scalar_subquery()))


def downgrade() -> None:
    op.drop_column("user", "seen_datetime")
