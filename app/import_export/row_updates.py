"""Writes the changes of rows to their links, each wholly or not at all."""

# see docs/decisions/2026-11-24-imports-that-update.md
from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import select

from app.accounts.access import Access
from app.core.errors import WaypostError
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.import_export.attachments import handlers_for, pixels_for
from app.import_export.row_changes import RowChange
from app.import_export.row_targets import StoredLink, stored_links
from app.import_export.row_to_link import RowResult, changes_of, projects_of
from app.links import services, uploads
from app.links.bulk_edit import GONE
from app.links.history import PICTURES
from app.links.models import Link

MEANWHILE = _l("This was changed meanwhile. Check the file again.")


def update_each(
    access: Access, wanted: Sequence[RowChange], colors: Mapping[str, str] | None = None
) -> list[RowResult]:
    """Change the links. Call it inside a write transaction; what is not as it was read is not changed.

    `colors`: those of missing projects, as far as the file contains them.
    """
    if not wanted:
        return []
    ids = [one.link_id for one in wanted]
    mine = select(Link).where(Link.workspace_id == access.workspace_id, Link.id.in_(ids)).order_by(Link.id)
    links = {link.id: link for link in db.session.scalars(mine.with_for_update())}
    stored = stored_links(access.workspace_id, ids)
    return [
        update_one(access, links[one.link_id], stored[one.link_id], one, colors or {})
        if one.link_id in links
        else RowResult("failed", [["", GONE]])
        for one in wanted
    ]


def update_one(
    access: Access, link: Link, stored: StoredLink, one: RowChange, colors: Mapping[str, str]
) -> RowResult:
    if late := [name for name, before, _ in one.differences if before != value_now(stored, name)]:
        return RowResult("failed", [[name, MEANWHILE] for name in late])
    kept = uploads.mark()
    try:
        with db.session.begin_nested():
            told = {**colors, **({one.project: one.project_color} if one.project_color else {})}
            projects = projects_of(access, [one.project] if one.project else [], told)
            pixels, handlers = pixels_for(access, [one.pixels]), handlers_for(access, [one.handlers])
            services.update(link, changes_of(one, projects, pixels, handlers))
    except WaypostError as error:
        uploads.back_to(kept)
        return RowResult("failed", [[problem.field or "", problem.title] for problem in error.errors])
    return RowResult("changed")


def value_now(stored: StoredLink, name: str) -> object:
    """The value of a column as `RowChange.differences` has it."""
    value = stored.values.get(name)
    return bool(value) if name in PICTURES or name == "password_hash" else value
