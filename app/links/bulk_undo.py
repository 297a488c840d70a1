"""Undo of a bulk change as one: each of its links gets back what that change replaced.

A link that was changed elsewhere since, in the same fields, stays as it is.
"""

# see docs/decisions/2026-11-24-bulk-changes-undone-as-one.md
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Select, func, select

from app.core.database import reread
from app.core.encryption import UnreadableSecret
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.links import services
from app.links.history import UNREADABLE, Fields, as_changes, fields_of
from app.links.models import Link, LinkChange

UNDOABLE = ("changed", "reverted")
CHANGED_SINCE = _l("It was changed since.")


def find_ids(workspace_id: int, batch: str, after: int, most: int) -> Sequence[int]:
    """The first `most` links above `after` that this change has changed."""
    found = select(LinkChange.link_id).where(LinkChange.batch == batch, LinkChange.link_id > after)
    return db.session.scalars(
        mine(found, workspace_id).distinct().order_by(LinkChange.link_id).limit(most)
    ).all()


def count_links(workspace_id: int, batches: Iterable[str]) -> Mapping[str, int]:
    """How many links each of these changes has changed."""
    found = select(LinkChange.batch, func.count(LinkChange.link_id.distinct()))
    counted = mine(found.where(LinkChange.batch.in_(set(batches))), workspace_id).group_by(LinkChange.batch)
    return dict(db.session.execute(counted).all())


def mine(found: Select[*tuple[Any, ...]], workspace_id: int) -> Select[*tuple[Any, ...]]:
    return found.where(LinkChange.workspace_id == workspace_id, LinkChange.kind.in_(UNDOABLE))


def undo(batch: str) -> Callable[[Link], None]:
    """What undoes the change of one link. It raises Invalid where that would overwrite a later change."""

    def undo_one(link: Link) -> None:
        reread(db.session, link)
        before, after = values_of(link, batch)
        now = fields_of(link, before)
        if all(now.get(name) == value for name, value in before.items()):
            return
        if any(now.get(name) != value for name, value in after.items()):
            raise Invalid(FieldError(CHANGED_SINCE, "changed_since"))
        services.update(link, as_changes(link, before), "reverted")

    return undo_one


def values_of(link: Link, batch: str) -> tuple[Fields, Fields]:
    """The values of the changed fields before and after the bulk change."""
    own = select(LinkChange).where(LinkChange.link_id == link.id, LinkChange.batch == batch)
    before: Fields = {}
    after: Fields = {}
    for change in db.session.scalars(mine(own, link.workspace_id).order_by(LinkChange.id)):
        if isinstance(change.fields, UnreadableSecret):
            raise Invalid(FieldError(UNREADABLE, "unreadable"))
        for name, (old, new) in change.fields.items():
            before.setdefault(name, old)
            after[name] = new
    return before, after
