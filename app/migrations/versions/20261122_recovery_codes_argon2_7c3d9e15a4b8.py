"""Hash stored recovery codes with argon2id, over the SHA-256 that they were kept as.

So the codes that owners have printed stay good. Used codes go: they opened nothing any more.

Revision ID: 7c3d9e15a4b8
Revises: 6c1e9a40d7b2
"""

import secrets

import sqlalchemy as sa
from alembic import op
from argon2 import PasswordHasher

revision = "7c3d9e15a4b8"
down_revision = "6c1e9a40d7b2"
branch_labels = None
depends_on = None

CODES = sa.table(
    "recovery_code",
    sa.column("id", sa.BigInteger()),
    sa.column("user_id", sa.BigInteger()),
    sa.column("digest", sa.String()),
    sa.column("used_datetime", sa.DateTime()),
)
SALT_BYTES = 16


def upgrade() -> None:
    with op.batch_alter_table("recovery_code") as batch:
        batch.alter_column("digest", existing_type=sa.String(64), type_=sa.String(255), existing_nullable=False)
    op.execute(sa.delete(CODES).where(CODES.c.used_datetime.is_not(None)))
    hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
    salts: dict[int, bytes] = {}
    for row in op.get_bind().execute(sa.select(CODES)).all():
        salt = salts.setdefault(row.user_id, secrets.token_bytes(SALT_BYTES))
        digest = hasher.hash(row.digest, salt=salt)
        op.execute(sa.update(CODES).where(CODES.c.id == row.id).values(digest=digest))


def downgrade() -> None:
    # nothing leads from a hash back to what it was made of: owners have new codes made
    op.execute(sa.delete(CODES))
    with op.batch_alter_table("recovery_code") as batch:
        batch.alter_column("digest", existing_type=sa.String(255), type_=sa.String(64), existing_nullable=False)
