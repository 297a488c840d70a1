"""imports and archives on several machines: who runs one, and parts of their files

Revision ID: 7e4c1a90b2d6
Revises: 7e2c94d1b8a6
"""

import sqlalchemy as sa
from alembic import op

revision = "7e4c1a90b2d6"
down_revision = "7e2c94d1b8a6"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# each machine has rows of its own for these from now on
OF_MACHINE = ("tables taken in", "stray pictures", "places")


def upgrade() -> None:
    for table in ("link_import", "archive"):
        op.add_column(table, sa.Column("who", sa.String(32), nullable=True))
        op.add_column(table, sa.Column("lease", sa.DateTime(), nullable=True))
    op.create_table(
        "file_part",
        sa.Column("file", sa.String(64), nullable=False),
        sa.Column("number", ID, autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("is_last", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("file", "number", name=op.f("pk_file_part")),
    )
    if op.get_bind().dialect.name == "postgresql":
        job = sa.table("job", sa.column("name", sa.String))
        op.execute(sa.delete(job).where(job.c.name.in_(OF_MACHINE)))


def downgrade() -> None:
    op.drop_table("file_part")
    for table in ("archive", "link_import"):
        op.drop_column(table, "lease")
        op.drop_column(table, "who")
