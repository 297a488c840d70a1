"""events of the feed: their drafts, their places, and the counter of these

The feed begins with this: what happened before has no place in it.

Revision ID: 4d7b1e90c2a8
Revises: e6a93d17f0b8
"""

import sqlalchemy as sa
from alembic import op

revision = "4d7b1e90c2a8"
down_revision = "e6a93d17f0b8"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
OF_LINKS, OF_MOVES = sa.text("link_id IS NOT NULL"), sa.text("url_before IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "event_draft",
        sa.Column("id", ID, nullable=False),
        sa.Column("event_id", sa.String(32), nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("type", sa.String(48), nullable=False),
        sa.Column("link_id", ID, nullable=False),
        sa.Column("url", sa.String(1024), nullable=False),
        sa.Column("origin", sa.String(300), nullable=True),
        sa.Column("location_url", sa.Text(), nullable=False),
        sa.Column("url_before", sa.String(1024), nullable=False),
        sa.Column("origin_before", sa.String(300), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event_draft")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_event_draft_workspace_id"), "event_draft", ["workspace_id"])
    op.create_index(op.f("ix_event_draft_link_id"), "event_draft", ["link_id"])
    op.create_table(
        "event_entry",
        sa.Column("position", ID, autoincrement=False, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("type", sa.String(48), nullable=False),
        sa.Column("day", ID, nullable=False),
        sa.Column("event_id", sa.String(32), nullable=True),
        sa.Column("link_id", ID, nullable=True),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("url_before", sa.String(1024), nullable=True),
        sa.Column("origin_before", sa.String(300), nullable=True),
        sa.Column("clicks", ID, nullable=True),
        sa.Column("first_id", ID, nullable=True),
        sa.Column("last_id", ID, nullable=True),
        sa.Column("first_ms", ID, nullable=True),
        sa.Column("last_ms", ID, nullable=True),
        sa.Column("link_ids", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_event_entry")),
        sa.UniqueConstraint("event_id", name=op.f("uq_event_entry_event_id")),
        schema="clicks",
    )
    for name, columns in (
        ("ix_event_entry_user_id_position", ["user_id", "position"]),
        ("ix_event_entry_user_id_type_position", ["user_id", "type", "position"]),
    ):
        op.create_index(op.f(name), "event_entry", columns, schema="clicks")
    for name, condition in (("ix_event_entry_link_id", OF_LINKS), ("ix_event_entry_moves", OF_MOVES)):
        op.create_index(
            name,
            "event_entry",
            ["link_id", "position"],
            schema="clicks",
            sqlite_where=condition,
            postgresql_where=condition,
        )
    counter = op.create_table(
        "event_counter",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("position", ID, nullable=False),
        sa.Column("horizon", ID, nullable=False),
        sa.Column("click_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event_counter")),
        schema="clicks",
    )
    last = op.get_bind().scalar(sa.text("SELECT max(id) FROM clicks.click")) or 0
    op.bulk_insert(counter, [{"id": 1, "position": 0, "horizon": 0, "click_id": last}])


def downgrade() -> None:
    op.drop_table("event_counter", schema="clicks")
    op.drop_table("event_entry", schema="clicks")
    op.drop_table("event_draft")
