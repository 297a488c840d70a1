"""limited links that ask for a tap

Revision ID: d4e81b6a3c07
Revises: 5f2ac07d91e3
"""

import sqlalchemy as sa
from alembic import op

revision = "d4e81b6a3c07"
down_revision = "5f2ac07d91e3"
branch_labels = None
depends_on = None

NAME = "clicks_limit_confirmation_is_enabled"


def upgrade() -> None:
    op.add_column("link", sa.Column(NAME, sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    op.drop_column("link", NAME)
