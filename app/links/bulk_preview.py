"""Preview of a bulk edit: what it would change of each link. Nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import joinedload, selectinload

from app.accounts.access import Access
from app.core.errors import WaypostError
from app.core.extensions import db
from app.links.bulk_edit import changes_of
from app.links.history import changed_values
from app.links.models import Link
from app.links.replacement import Replaced

BATCH_SIZE = 200


class LinkPreview(NamedTuple):
    """What a bulk edit would do with one link.

    `fields`: field → [before, after], as the history records it. `replaced`: each destination in which text
    is replaced. `problem`: why the link stays as it is, "" where nothing is wrong.
    """

    link: Link
    fields: Mapping[str, Sequence[Any]]
    replaced: Sequence[Replaced]
    problem: str

    @property
    def lost_targeting(self) -> str | None:
        """The targeting type that the link has and would lose."""
        before, after = self.fields.get("targeting_type", (None, None))
        lost: str | None = before if before != after else None
        return lost


def preview(access: Access, ids: Sequence[int], asked: Mapping[str, Any]) -> list[LinkPreview]:
    """The previews of these links by rising id. Those that are gone meanwhile are left out."""
    query = select(Link).where(Link.workspace_id == access.workspace_id, Link.id.in_(ids)).order_by(Link.id)
    query = query.options(joinedload(Link.domain))
    for name, rows in (("tags", Link.tag_rows), ("pixels", Link.pixels), ("handlers", Link.handlers)):
        if asked.keys() & {f"add_{name}", f"remove_{name}"}:
            query = query.options(selectinload(rows))
    return [preview_of(link, asked) for link in db.session.scalars(query)]


def preview_of(link: Link, asked: Mapping[str, Any]) -> LinkPreview:
    replaced = list(asked["replacement"].replaced(link)) if "replacement" in asked else []
    try:
        return LinkPreview(link, changed_values(link, changes_of(link, asked)), replaced, "")
    except WaypostError as error:
        return LinkPreview(link, {}, replaced, " ".join(str(one.title) for one in error.errors))
