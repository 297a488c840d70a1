"""imports

Revision ID: 5b8d1e7f3a90
Revises: 9d3b7a52e6c1
"""

import sqlalchemy as sa
from alembic import op

revision = "5b8d1e7f3a90"
down_revision = "9d3b7a52e6c1"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "link_import",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("file", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("columns", sa.JSON(), nullable=False),
        sa.Column("project", sa.String(length=128), nullable=False),
        sa.Column("domain_id", ID, nullable=True),
        sa.Column("host", sa.String(length=261), nullable=False),
        sa.Column("rows", ID, nullable=True),
        *(sa.Column(name, ID, nullable=False) for name in ("position", "made", "known", "failed")),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        owner("link_import"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_link_import")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_link_import_user_id_id"), "link_import", ["user_id", "id"])
    op.create_index(op.f("ix_link_import_state"), "link_import", ["state"])
    op.create_table(
        "failed_row",
        sa.Column("import_id", ID, autoincrement=False, nullable=False),
        sa.Column("number", ID, autoincrement=False, nullable=False),
        sa.Column("line", ID, nullable=False),
        sa.Column("cells", sa.JSON(), nullable=False),
        sa.Column("problems", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["import_id"],
            ["link_import.id"],
            name=op.f("fk_failed_row_import_id_link_import"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("import_id", "number", name=op.f("pk_failed_row")),
    )
    op.create_table(
        "imported_row",
        sa.Column("link_id", ID, autoincrement=False, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["link_id"], ["link.id"], name=op.f("fk_imported_row_link_id_link"), ondelete="CASCADE"
        ),
        owner("imported_row"),
        sa.PrimaryKeyConstraint("link_id", name=op.f("pk_imported_row")),
    )
    op.create_index(op.f("ix_imported_row_user_id_digest"), "imported_row", ["user_id", "digest"], unique=True)


def owner(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["user_id"], ["user.id"], name=op.f(f"fk_{table}_user_id_user"), ondelete="CASCADE"
    )


def downgrade() -> None:
    for table in ("imported_row", "failed_row", "link_import"):
        op.drop_table(table)
