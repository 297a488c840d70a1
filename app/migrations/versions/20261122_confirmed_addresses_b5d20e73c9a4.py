"""confirmed addresses of handlers, verified addresses of accounts

What is there today counts as confirmed and as verified: nothing recorded who had agreed.

Revision ID: b5d20e73c9a4
Revises: 9c41e7d05ab2
"""

import sqlalchemy as sa
from alembic import op

revision = "b5d20e73c9a4"
down_revision = "9c41e7d05ab2"
branch_labels = None
depends_on = None

WAITING = sa.text("confirmation_due IS NOT NULL")


def upgrade() -> None:
    with op.batch_alter_table("notification_handler") as batch_op:
        batch_op.add_column(sa.Column("is_confirmed", sa.Boolean(), server_default=sa.true(), nullable=False))
        batch_op.add_column(sa.Column("confirmation_due", sa.DateTime(), nullable=True))
        batch_op.add_column(sa.Column("confirmation_datetime", sa.DateTime(), nullable=True))
        batch_op.create_index(
            "ix_notification_handler_confirmation_due",
            ["confirmation_due"],
            sqlite_where=WAITING,
            postgresql_where=WAITING,
        )
    with op.batch_alter_table("user") as batch_op:
        batch_op.add_column(sa.Column("verified_email", sa.String(length=320), nullable=True))
    op.execute(sa.text('UPDATE "user" SET verified_email = email'))


def downgrade() -> None:
    with op.batch_alter_table("user") as batch_op:
        batch_op.drop_column("verified_email")
    with op.batch_alter_table("notification_handler") as batch_op:
        batch_op.drop_index("ix_notification_handler_confirmation_due")
        batch_op.drop_column("confirmation_datetime")
        batch_op.drop_column("confirmation_due")
        batch_op.drop_column("is_confirmed")
