"""outbox: events, deliveries and their attempts

Revision ID: 4c8e1f60d2a9
Revises: b7d2e4a91c05
"""

import sqlalchemy as sa
from alembic import op

revision = "4c8e1f60d2a9"
down_revision = "b7d2e4a91c05"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    with op.batch_alter_table("notification_handler") as batch_op:
        batch_op.add_column(sa.Column("failing_since", sa.DateTime(), nullable=True))
        batch_op.add_column(sa.Column("off_reason", sa.String(length=512), nullable=True))
    op.create_table(
        "event",
        sa.Column("id", ID, nullable=False),
        sa.Column("type", sa.String(length=48), nullable=False),
        sa.Column("link_id", ID, nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "delivery",
        sa.Column("id", ID, nullable=False),
        sa.Column("handler_id", ID, nullable=False),
        sa.Column("type", sa.String(length=48), nullable=False),
        sa.Column("webhook_id", sa.String(length=64), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.Column("due", sa.DateTime(), nullable=True),
        sa.Column("planned", sa.DateTime(), nullable=False),
        sa.Column("lease", sa.DateTime(), nullable=True),
        sa.Column("who", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(
            ["handler_id"],
            ["notification_handler.id"],
            name=op.f("fk_delivery_handler_id_notification_handler"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sa.UniqueConstraint("webhook_id", name=op.f("uq_delivery_webhook_id")),
        sqlite_autoincrement=True,
    )
    waiting = sa.text("due IS NOT NULL")
    op.create_index(
        "ix_delivery_waiting", "delivery", ["due"], sqlite_where=waiting, postgresql_where=waiting
    )
    op.create_index(op.f("ix_delivery_handler_id_id"), "delivery", ["handler_id", "id"])
    op.create_index(op.f("ix_delivery_datetime"), "delivery", ["datetime"])
    op.create_table(
        "delivery_attempt",
        sa.Column("id", ID, nullable=False),
        sa.Column("delivery_id", ID, nullable=False),
        sa.Column("status_code", sa.Integer(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["delivery_id"],
            ["delivery.id"],
            name=op.f("fk_delivery_attempt_delivery_id_delivery"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery_attempt")),
    )
    op.create_index(op.f("ix_delivery_attempt_delivery_id"), "delivery_attempt", ["delivery_id"])


def downgrade() -> None:
    op.drop_table("delivery_attempt")
    op.drop_table("delivery")
    op.drop_table("event")
    with op.batch_alter_table("notification_handler") as batch_op:
        batch_op.drop_column("off_reason")
        batch_op.drop_column("failing_since")
