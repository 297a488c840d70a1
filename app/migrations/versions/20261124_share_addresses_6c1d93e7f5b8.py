"""share addresses of statistics

Revision ID: 6c1d93e7f5b8
Revises: fdfaa24d7ef5
"""

import sqlalchemy as sa
from alembic import op

revision = "6c1d93e7f5b8"
down_revision = "fdfaa24d7ef5"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TABLE = "statistics_share"
OWNERS = ("user_id", "link_id", "project_id")


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("id", ID, nullable=False),
        *(reference(name) for name in OWNERS),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("sealed_token", sa.Text(), nullable=False),
        sa.Column("parts", sa.JSON(), nullable=False),
        sa.Column("period", sa.String(16), nullable=False),
        sa.Column("start_date", sa.String(10), nullable=True),
        sa.Column("end_date", sa.String(10), nullable=True),
        sa.Column("least", sa.Integer(), nullable=False),
        sa.Column("password_hash", sa.String(255), nullable=True),
        sa.Column("is_embeddable", sa.Boolean(), nullable=False),
        sa.Column("embed_hosts", sa.JSON(), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=True),
        sa.Column("revoked_datetime", sa.DateTime(), nullable=True),
        sa.Column("uses", ID, nullable=False),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{TABLE}")),
        sa.UniqueConstraint("digest", name=op.f(f"uq_{TABLE}_digest")),
        sqlite_autoincrement=True,
    )
    for name in OWNERS:
        op.create_index(op.f(f"ix_{TABLE}_{name}"), TABLE, [name])


def reference(name: str) -> sa.Column:
    target = name.removesuffix("_id")
    key = sa.ForeignKey(f"{target}.id", name=op.f(f"fk_{TABLE}_{name}_{target}"), ondelete="CASCADE")
    return sa.Column(name, ID, key, nullable=name != "user_id")


def downgrade() -> None:
    op.drop_table(TABLE)
