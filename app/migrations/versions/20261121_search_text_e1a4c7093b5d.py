"""what a search of links looks in

Revision ID: e1a4c7093b5d
Revises: 6c2f9e81b4d7
"""

import sqlalchemy as sa
from alembic import op

revision = "e1a4c7093b5d"
down_revision = "6c2f9e81b4d7"
branch_labels = None
depends_on = None

AT_ONCE = 1000


def upgrade() -> None:
    op.add_column("link", sa.Column("search_text", sa.Text(), server_default="", nullable=False))
    link = sa.table("link", *map(sa.column, ("id", "url", "location_url", "title", "search_text")))
    rows = sa.select(link.c.id, link.c.url, link.c.location_url, link.c.title).order_by(link.c.id)
    fill = sa.update(link).where(link.c.id == sa.bindparam("of")).values(search_text=sa.bindparam("text"))
    last, connection = 0, op.get_bind()
    while some := connection.execute(rows.where(link.c.id > last).limit(AT_ONCE)).all():
        # in Python: no database folds case as Unicode does
        connection.execute(fill, [{"of": id_, "text": folded(texts)} for id_, *texts in some])
        last = some[-1].id


def folded(texts: list[str | None]) -> str:
    return "\n".join((text or "").replace("\n", " ") for text in texts).casefold()


def downgrade() -> None:
    op.drop_column("link", "search_text")
