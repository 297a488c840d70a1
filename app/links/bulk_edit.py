"""Bulk edit: one change of many links, and the reason for each link that stays as it was; preview and undo.

A preview stores nothing. An undo takes a bulk change back as one: each of its links gets back what that
change replaced. A link that was changed elsewhere since, in the same fields, stays as it is.
"""

# see docs/decisions/2026-11-24-bulk-changes-undone-as-one.md
# see docs/decisions/2026-11-21-many-links-together.md
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import joinedload, selectinload

from app.accounts.access import Access, get_owned
from app.core.database import begin_write, reread
from app.core.encryption import UnreadableSecret
from app.core.errors import FieldError, Invalid, NotFound, WaypostError
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.links import services, uploads
from app.links.bulk_forms import MAX_TAGS
from app.links.history import UNREADABLE, Fields, as_changes, changed_values, fields_of
from app.links.models import Link, LinkChange
from app.links.replacement import Replaced

# links in one transaction: visitors of limited links wait for its end
BATCH_SIZE = 20
GONE = _l("It no longer exists: it was deleted meanwhile.")
CHANGED_SINCE = _l("It was changed elsewhere since the preview.")


class BulkFailure(NamedTuple):
    """A link that stayed as it was, and why."""

    id: int
    reason: str


def changes_of(link: Link, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The changes of this link for `services.update`; `asked` are the changes of a ManyForm."""
    found = {name: asked[name] for name in ("is_enabled", "project_id") if name in asked}
    if asked.get("add_tags") or asked.get("remove_tags"):
        found["tags"] = tags_of(link, asked)
    for name, field in (("pixels", "pixels_ids"), ("handlers", "email_reports")):
        add, remove = asked.get(f"add_{name}") or (), asked.get(f"remove_{name}") or ()
        if add or remove:  # only then, for reading them is a query for each link
            found[field] = sorted(({row.id for row in getattr(link, name)} | set(add)) - set(remove))
    found |= dates_of(asked) | values_of(link, asked)
    for name in ("targeting", "replacement"):
        if name in asked:
            found |= asked[name].changes_of(link)
    return found


def tags_of(link: Link, asked: Mapping[str, Any]) -> list[str]:
    """The tags that result: the link's own first, in their order. Raises Invalid if they are too many."""
    wanted = [row.tag for row in link.tag_rows] + list(asked.get("add_tags") or ())
    tags = [tag for tag in dict.fromkeys(wanted) if tag not in (asked.get("remove_tags") or ())]
    if len(tags) > MAX_TAGS:
        raise Invalid(
            FieldError(
                _l(
                    "It would have %(number)s tags; the limit is %(most)s.",
                    number=len(tags),
                    most=MAX_TAGS,
                ),
                "too_many",
                "tags",
            )
        )
    return tags


def dates_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    if "schedule" not in asked:
        return {}
    dates = ("start_date", "end_date")
    return {
        "schedule": asked["schedule"],
        **{name: asked.get(name) if asked["schedule"] else None for name in dates},
    }


def values_of(link: Link, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of one text each that change: set on all, set where there is none, or cleared."""
    return {
        name: None if action == "clear" else text
        for name, (action, text) in asked.get("values", {}).items()
        if action != "fill" or not getattr(link, name)
    }


class BulkChange:
    """Changes one link by what was asked, and counts those that are so already.

    `seen`: `next_change()` at the time of the preview. What was changed elsewhere after it is not
    overwritten. 0 where there was no preview.
    """

    def __init__(self, asked: Mapping[str, Any], seen: int = 0) -> None:
        self.asked, self.seen, self.untouched = asked, seen, 0

    def __call__(self, link: Link) -> None:
        reread(db.session, link)
        changes = changes_of(link, self.asked)
        names = changed_values(link, changes).keys()
        if self.seen and is_changed_since(link, self.seen, names):
            raise Invalid(FieldError(CHANGED_SINCE, "changed_since"))
        self.untouched += not names
        services.update(link, changes if names else {})


def next_change() -> int:
    """The least id of changes that are yet to come, to tell them later from those before."""
    return (db.session.scalar(select(func.max(LinkChange.id))) or 0) + 1


def is_changed_since(link: Link, seen: int, names: Collection[str]) -> bool:
    """Whether a change that came later changed any of these fields. One that can't be read may have."""
    later = select(LinkChange).where(LinkChange.link_id == link.id, LinkChange.id >= seen)
    return any(
        isinstance(one.fields, UnreadableSecret) or not one.fields.keys().isdisjoint(names)
        for one in db.session.scalars(later)
    )


def act_on(access: Access, ids: Sequence[int], act: Callable[[Link], object]) -> list[BulkFailure]:
    """Call `act` with each of these links, in one transaction, and commit it. Links that fail stay as they
    were, and are returned with the reason."""
    begin_write(db.session)
    failures = [failure for id_ in ids if (failure := tried(access, id_, act))]
    db.session.commit()
    return failures


def delete(access: Access, ids: Sequence[int], batch: str | None) -> tuple[str, list[BulkFailure]]:
    """Move these links to the trash in one transaction, and commit it. Returns the batch, by which they can
    be restored, and those that were not there."""
    begin_write(db.session)
    batch, missing = services.delete_many(access.workspace_id, ids, batch)
    db.session.commit()
    return batch, [BulkFailure(id_, GONE) for id_ in sorted(missing)]


def tried(access: Access, id_: int, act: Callable[[Link], object]) -> BulkFailure | None:
    """Call `act` with one link. None on success; on failure only this link's changes are undone."""
    kept = uploads.mark()
    try:
        with db.session.begin_nested():
            act(get_owned(access, Link, id_))
    except NotFound:
        return BulkFailure(id_, GONE)
    except WaypostError as error:
        uploads.back_to(kept)
        return BulkFailure(id_, " ".join(str(one.title) for one in error.errors))
    return None


def still_there(access: Access, ids: Sequence[int]) -> dict[int, Link]:
    """The user's links with these ids that still exist, to describe them in messages."""
    found = db.session.scalars(select(Link).where(Link.workspace_id == access.workspace_id, Link.id.in_(ids)))
    return {link.id: link for link in found}


# --- preview


PREVIEW_BATCH_SIZE = 200


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


# --- undo


UNDOABLE = ("changed", "reverted")
CHANGED_SINCE_THEN = _l("It was changed since.")


def find_undoable(workspace_id: int, batch: str, after: int, most: int) -> Sequence[int]:
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
        before, after = values_around(link, batch)
        now = fields_of(link, before)
        if all(now.get(name) == value for name, value in before.items()):
            return
        if any(now.get(name) != value for name, value in after.items()):
            raise Invalid(FieldError(CHANGED_SINCE_THEN, "changed_since"))
        services.update(link, as_changes(link, before), "reverted")

    return undo_one


def values_around(link: Link, batch: str) -> tuple[Fields, Fields]:
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
