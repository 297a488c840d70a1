"""when the password was last typed in a session

Revision ID: 2d84b6f0c7e9
Revises: b5d20e73c9a4
"""

import sqlalchemy as sa
from alembic import op

revision = "2d84b6f0c7e9"
down_revision = "b5d20e73c9a4"
branch_labels = None
depends_on = None

SESSION = sa.table("user_session", sa.column("datetime"), sa.column("password_datetime"))


def upgrade() -> None:
    op.add_column("user_session", sa.Column("password_datetime", sa.DateTime(), nullable=True))
    # at the sign-in, as far as anybody knows
    op.execute(sa.update(SESSION).values(password_datetime=SESSION.c.datetime))


def downgrade() -> None:
    op.drop_column("user_session", "password_datetime")
