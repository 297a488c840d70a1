"""contents of pictures are in the database

Revision ID: 4f0b7d92c6a1
Revises: 3d7c0f92b8e4
"""

import click
import sqlalchemy as sa
from alembic import op

revision = "4f0b7d92c6a1"
down_revision = "3d7c0f92b8e4"
branch_labels = None
depends_on = None

IN_BUCKET = "SELECT count(*) FROM stored_content WHERE content IS NULL AND digest NOT LIKE 'left-%'"


def upgrade() -> None:
    if count := op.get_bind().scalar(sa.text(IN_BUCKET)):
        raise click.ClickException(
            f"{count} pictures are in a bucket, which this version does not read. With the version before, take"
            " WAYPOST_MEDIA_URL away and run: ./waypost media copy --from s3://bucket/prefix"
        )
    op.execute("DELETE FROM stored_content WHERE content IS NULL")
    with op.batch_alter_table("stored_content") as batch:
        batch.alter_column("content", existing_type=sa.LargeBinary(), nullable=False)
        batch.drop_column("object_name")


def downgrade() -> None:
    with op.batch_alter_table("stored_content") as batch:
        batch.add_column(sa.Column("object_name", sa.String(100), nullable=True))
        batch.alter_column("content", existing_type=sa.LargeBinary(), nullable=True)
