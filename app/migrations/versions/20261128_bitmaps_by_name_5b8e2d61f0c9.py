"""bitmaps of links on SQLite lie in the order in which they are read

Revision ID: 5b8e2d61f0c9
Revises: 2c9f41a7e6d3
"""

import sqlalchemy as sa
from alembic import op

revision = "5b8e2d61f0c9"
down_revision = "2c9f41a7e6d3"
branch_labels = None
depends_on = None
needs_restart = False  # the version before reads and writes the table in the same way

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
INDEX = "ix_link_bitmap_workspace_id_block"


def upgrade() -> None:
    arrange(with_rowid=False)


def downgrade() -> None:
    arrange(with_rowid=True)


def arrange(*, with_rowid: bool) -> None:
    """Makes the table anew on SQLite, with what is in it. One without rowids has its rows in the order of the
    primary key: all bitmaps of a name together."""
    if op.get_bind().dialect.name != "sqlite":
        return
    op.create_table(
        "link_bitmap_new",
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("block", ID, autoincrement=False, nullable=False),
        sa.Column("bits", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_link_bitmap_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "name", "block", name=op.f("pk_link_bitmap")),
        sqlite_with_rowid=with_rowid,
    )
    op.execute("INSERT INTO link_bitmap_new SELECT * FROM link_bitmap ORDER BY workspace_id, name, block")
    op.drop_table("link_bitmap")
    op.rename_table("link_bitmap_new", "link_bitmap")
    op.create_index(op.f(INDEX), "link_bitmap", ["workspace_id", "block"])
