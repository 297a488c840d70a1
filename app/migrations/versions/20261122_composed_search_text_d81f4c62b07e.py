"""what a search of links looks in, composed

Revision ID: d81f4c62b07e
Revises: c5e80b4f2a16
"""

import unicodedata

import sqlalchemy as sa
from alembic import op

revision = "d81f4c62b07e"
down_revision = "c5e80b4f2a16"
branch_labels = None
depends_on = None

BATCH_SIZE = 1000


def upgrade() -> None:
    link = sa.table("link", *map(sa.column, ("id", "url", "location_url", "title", "search_text")))
    columns = link.c.id, link.c.search_text, link.c.url, link.c.location_url, link.c.title
    rows = sa.select(*columns).order_by(link.c.id)
    fill = sa.update(link).where(link.c.id == sa.bindparam("of")).values(search_text=sa.bindparam("text"))
    last, connection = 0, op.get_bind()
    while some := connection.execute(rows.where(link.c.id > last).limit(BATCH_SIZE)).all():
        changed = [
            {"of": id_, "text": text} for id_, old, *texts in some if (text := folded(texts)) != old
        ]
        if changed:
            connection.execute(fill, changed)
        last = some[-1].id


def folded(texts: list[str | None]) -> str:
    lines = "\n".join((text or "").replace("\n", " ") for text in texts)
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", lines).casefold())


def downgrade() -> None:
    """What is composed is found before, too."""
