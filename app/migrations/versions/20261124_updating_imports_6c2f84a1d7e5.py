"""imports that update links, and what the check of an import says about each row

Revision ID: 6c2f84a1d7e5
Revises: c5a7e2f81d46
"""

import sqlalchemy as sa
from alembic import op

revision = "6c2f84a1d7e5"
down_revision = "c5a7e2f81d46"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    # not in a batch, which would make the table anew, and its ids could be given again
    for name in ("is_update", "clears_empty"):
        op.add_column(
            "link_import", sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False)
        )
    op.add_column("link_import", sa.Column("changed", ID, server_default="0", nullable=False))
    op.create_table(
        "preview_row",
        sa.Column("import_id", ID, autoincrement=False, nullable=False),
        sa.Column("number", ID, autoincrement=False, nullable=False),
        sa.Column("line", ID, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("link_id", ID, nullable=True),
        sa.Column("alias_digest", sa.BigInteger(), nullable=True),
        sa.Column("alias", sa.String(length=300), nullable=False),
        sa.Column("differences", sa.JSON(), nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["import_id"],
            ["link_import.id"],
            name=op.f("fk_preview_row_import_id_link_import"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("import_id", "number", name=op.f("pk_preview_row")),
    )
    op.create_index(
        op.f("ix_preview_row_import_id_kind_number"), "preview_row", ["import_id", "kind", "number"]
    )


def downgrade() -> None:
    op.drop_table("preview_row")
    # what an import was told to update is not to be imported as though it was not
    op.execute("UPDATE link_import SET state = 'ended' WHERE is_update AND state NOT IN ('done', 'failed')")
    for name in ("changed", "clears_empty", "is_update"):
        op.drop_column("link_import", name)
