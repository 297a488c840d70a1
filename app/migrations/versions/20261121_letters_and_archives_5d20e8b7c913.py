"""letters of Waypost itself, and downloads of everything

Revision ID: 5d20e8b7c913
Revises: 1c6f0a93d8e4
"""

import sqlalchemy as sa
from alembic import op

revision = "5d20e8b7c913"
down_revision = "1c6f0a93d8e4"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "letter",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("about", sa.String(length=64), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("until", sa.DateTime(), nullable=False),
        sa.Column("sent_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        *claimed(),
        owner("letter"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_letter")),
    )
    op.create_index(op.f("ix_letter_user_id"), "letter", ["user_id"])
    op.create_index(op.f("ix_letter_about"), "letter", ["about"])
    op.create_index(op.f("ix_letter_due"), "letter", ["due"])
    op.create_table(
        "archive",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("file", sa.String(length=64), nullable=False),
        sa.Column("site", sa.String(length=512), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("done", ID, nullable=False),
        sa.Column("total", ID, nullable=False),
        sa.Column("bytes", ID, nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("done_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        owner("archive"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_archive")),
        sqlite_autoincrement=True,
    )
    # one for an owner at a time
    op.create_index(op.f("ix_archive_user_id"), "archive", ["user_id"], unique=True)
    op.create_index(op.f("ix_archive_state"), "archive", ["state"])


def claimed() -> list[sa.Column[object]]:
    return [
        sa.Column("due", sa.DateTime(), nullable=True),
        sa.Column("planned", sa.DateTime(), nullable=False),
        sa.Column("lease", sa.DateTime(), nullable=True),
        sa.Column("who", sa.String(length=32), nullable=True),
    ]


def owner(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_user_id_user")
    return sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=name, ondelete="CASCADE")


def downgrade() -> None:
    op.drop_table("archive")
    op.drop_table("letter")
