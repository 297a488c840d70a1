"""what a search of links finds by notes and tags

Revision ID: 3b9f60d8e2a1
Revises: 8e1d5a72c4f6
"""

import unicodedata

import sqlalchemy as sa
from alembic import op

revision = "3b9f60d8e2a1"
down_revision = "8e1d5a72c4f6"
branch_labels = None
depends_on = None

BATCH_SIZE = 1000


def upgrade() -> None:
    op.add_column("link", sa.Column("search_notes", sa.Text()))
    link = sa.table("link", *map(sa.column, ("id", "notes", "search_notes")))
    tag = sa.table("link_tag", *map(sa.column, ("link_id", "tag", "position")))
    rows = sa.select(link.c.id, link.c.notes).order_by(link.c.id).limit(BATCH_SIZE)
    tags = sa.select(tag.c.link_id, tag.c.tag).order_by(tag.c.link_id, tag.c.position)
    fill = sa.update(link).where(link.c.id == sa.bindparam("of")).values(search_notes=sa.bindparam("text"))
    last, connection = 0, op.get_bind()
    while some := connection.execute(rows.where(link.c.id > last)).all():
        texts = {id_: [notes] for id_, notes in some}
        for id_, name in connection.execute(tags.where(tag.c.link_id.between(last + 1, some[-1].id))):
            texts[id_].append(name)
        filled = [{"of": id_, "text": text} for id_, found in texts.items() if (text := folded(found))]
        if filled:
            connection.execute(fill, filled)
        last = some[-1].id


def folded(texts: list[str | None]) -> str:
    lines = "\n".join((text or "").replace("\n", " ") for text in texts)
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", lines).casefold()).strip("\n")


def downgrade() -> None:
    op.drop_column("link", "search_notes")
