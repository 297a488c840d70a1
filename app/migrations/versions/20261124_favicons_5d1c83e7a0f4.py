"""icons of the sites that links lead to, and whether an owner wants them

Revision ID: 5d1c83e7a0f4
Revises: 6c2f84a1d7e5
"""

import sqlalchemy as sa
from alembic import op

revision = "5d1c83e7a0f4"
down_revision = "6c2f84a1d7e5"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
WAITING = sa.text("due IS NOT NULL")


def upgrade() -> None:
    op.add_column(
        "user", sa.Column("fetches_favicons", sa.Boolean(), server_default=sa.true(), nullable=False)
    )
    op.create_table(
        "favicon",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("site", sa.String(300), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("digest", sa.String(16), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.Column("due", sa.DateTime(), nullable=True),
        sa.Column("planned", sa.DateTime(), nullable=False),
        sa.Column("lease", sa.DateTime(), nullable=True),
        sa.Column("who", sa.String(32), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_favicon_user_id_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_favicon")),
        sa.UniqueConstraint("user_id", "site", name=op.f("uq_favicon_user_id_site")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_favicon_due", "favicon", ["due"], sqlite_where=WAITING, postgresql_where=WAITING)


def downgrade() -> None:
    op.drop_table("favicon")
    op.drop_column("user", "fetches_favicons")
