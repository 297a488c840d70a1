"""jobs, reports, moments of links to be told, checks of destinations

Revision ID: 9d3b7a52e6c1
Revises: 9e2b7c41d5f3
"""

import sqlalchemy as sa
from alembic import op

revision = "9d3b7a52e6c1"
down_revision = "9e2b7c41d5f3"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MOMENTS = ("start", "end")


def upgrade() -> None:
    # constant defaults, so that SQLite need not make the table anew
    op.add_column("user", sa.Column("report_period", sa.String(length=16), nullable=False, server_default="weekly"))
    op.add_column("user", sa.Column("report_hour", sa.Integer(), nullable=False, server_default="8"))
    op.add_column("user", sa.Column("report_since", sa.DateTime(), nullable=False, server_default="2026-11-21 00:00:00"))
    op.add_column("user", sa.Column("checks_destinations", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.execute('UPDATE "user" SET report_since = CURRENT_TIMESTAMP')
    for name in MOMENTS:
        op.add_column("link", sa.Column(f"{name}_due", sa.DateTime(), nullable=True))
        # what has come already was before there was anybody to tell it
        op.execute(f"UPDATE link SET {name}_due = {name}_date WHERE schedule AND {name}_date > CURRENT_TIMESTAMP")
        waits = sa.text(f"{name}_due IS NOT NULL")
        op.create_index(f"ix_link_{name}_due", "link", [f"{name}_due"], sqlite_where=waits, postgresql_where=waits)
    op.create_table(
        "job",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("cron", sa.String(length=64), nullable=False),
        *claimed(),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
        sa.UniqueConstraint("name", name=op.f("uq_job_name")),
    )
    op.create_table(
        "report",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("period", sa.String(length=16), nullable=False),
        sa.Column("start_date", sa.Date(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_report_user_id_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "period", "start_date", name=op.f("pk_report")),
    )
    op.create_table(
        "destination_check",
        sa.Column("id", ID, nullable=False),
        sa.Column("link_id", ID, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", sa.DateTime(), nullable=True),
        *claimed(),
        sa.ForeignKeyConstraint(
            ["link_id"], ["link.id"], name=op.f("fk_destination_check_link_id_link"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_destination_check")),
        sa.UniqueConstraint("link_id", name=op.f("uq_destination_check_link_id")),
    )


def claimed() -> list[sa.Column]:
    return [
        sa.Column("due", sa.DateTime(), nullable=True),
        sa.Column("planned", sa.DateTime(), nullable=False),
        sa.Column("lease", sa.DateTime(), nullable=True),
        sa.Column("who", sa.String(length=32), nullable=True),
    ]


def downgrade() -> None:
    for table in ("destination_check", "report", "job"):
        op.drop_table(table)
    for name in MOMENTS:
        op.drop_index(f"ix_link_{name}_due", "link")
        op.drop_column("link", f"{name}_due")
    for name in ("checks_destinations", "report_since", "report_hour", "report_period"):
        op.drop_column("user", name)
