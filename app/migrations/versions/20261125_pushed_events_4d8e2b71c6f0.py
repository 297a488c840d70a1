"""pushed events

Revision ID: 4d8e2b71c6f0
Revises: 4d7b1e90c2a8
"""

import sqlalchemy as sa
from alembic import op

from app.core.database import UtcDateTime

revision = "4d8e2b71c6f0"
down_revision = "4d7b1e90c2a8"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
HANDLER = "notification_handler"
WAITING = sa.text("due IS NOT NULL")


def upgrade() -> None:
    op.add_column(HANDLER, sa.Column("events", sa.JSON(none_as_null=True), nullable=True))
    op.add_column(HANDLER, sa.Column("scope", sa.String(16), server_default="attached", nullable=False))
    op.add_column(HANDLER, sa.Column("click_filter", sa.JSON(none_as_null=True), nullable=True))
    op.add_column(HANDLER, sa.Column("link_id", ID, nullable=True))
    op.create_table(
        "event_cursor",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("cursor", sa.String(64), nullable=False),
        sa.Column("summary", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("skipped", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("due", UtcDateTime(), nullable=True),
        sa.Column("planned", UtcDateTime(), nullable=False),
        sa.Column("lease", UtcDateTime(), nullable=True),
        sa.Column("who", sa.String(32), nullable=True),
        sa.ForeignKeyConstraint(
            ["id"],
            ["notification_handler.id"],
            name=op.f("fk_event_cursor_id_notification_handler"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event_cursor")),
    )
    op.create_index(
        "ix_event_cursor_waiting",
        "event_cursor",
        ["due"],
        sqlite_where=WAITING,
        postgresql_where=WAITING,
    )
    op.create_table(
        "click_number",
        sa.Column("handler_id", ID, autoincrement=False, nullable=False),
        sa.Column("link_id", ID, autoincrement=False, nullable=False),
        sa.Column("number", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["handler_id"],
            ["notification_handler.id"],
            name=op.f("fk_click_number_handler_id_notification_handler"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("handler_id", "link_id", name=op.f("pk_click_number")),
    )


def downgrade() -> None:
    op.drop_table("click_number")
    op.drop_index("ix_event_cursor_waiting", "event_cursor")
    op.drop_table("event_cursor")
    with op.batch_alter_table(HANDLER) as batch_op:
        batch_op.drop_column("link_id")
        batch_op.drop_column("click_filter")
        batch_op.drop_column("scope")
        batch_op.drop_column("events")
