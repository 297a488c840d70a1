"""Bulk edit: one change of many links, and the reason for each link that stays as it was."""

# see docs/decisions/2026-11-21-many-links-together.md
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select

from app.accounts.models import User
from app.accounts.ownership import get_owned
from app.core.database import begin_write
from app.core.errors import FieldError, Invalid, NotFound, WaypostError
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import DateTimeField, FlagField, IdsField, OwnIdField, ResourceForm
from app.links import services, uploads
from app.links.fields import TagsField
from app.links.models import Link
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project

# links in one transaction: visitors of limited links wait for its end
BATCH_SIZE = 20
MAX_TAGS = 20
GONE = _l("It no longer exists: it was deleted meanwhile.")


class ManyForm(ResourceForm):
    """What to change in each of many links. As in every form, only what was sent changes."""

    is_enabled = FlagField(_l("State"))
    project_id = OwnIdField(_l("Project"), model=Project)
    add_tags = TagsField(_l("Add tags"), most_members=MAX_TAGS)
    remove_tags = TagsField(_l("Remove tags"), most_members=1000)
    add_pixels = IdsField(_l("Add pixels"), model=Pixel)
    remove_pixels = IdsField(_l("Remove pixels"), model=Pixel)
    add_handlers = IdsField(_l("Also notify"), model=NotificationHandler)
    remove_handlers = IdsField(_l("Stop notifications"), model=NotificationHandler)
    schedule = FlagField(_l("Schedule"))
    start_date = DateTimeField(_l("Start"))
    end_date = DateTimeField(_l("End"))

    def check(self) -> None:
        first, last = self.start_date.data, self.end_date.data
        if self.schedule.data and first and last and last <= first:
            self.reject("end_date", _l("The end must be after the start."), "order")
        if self.schedule.data and self.is_good("start_date") and not (first or last):
            self.reject("start_date", _l("Set a start, an end, or both."), "required")
        if not self.asks_something and not self.problems:
            self.reject("is_enabled", _l("Choose something to change."), "required")

    @property
    def asks_something(self) -> bool:
        lists = [name for name in self.changes if name.startswith(("add_", "remove_"))]
        return bool(set(self.changes) - set(lists) - {"start_date", "end_date"}) or any(
            self.changes[name] for name in lists
        )


class BulkFailure(NamedTuple):
    """A link that stayed as it was, and why."""

    id: int
    reason: str


def changes_of(link: Link, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The changes of this link for `services.update`; `asked` are the changes of a ManyForm."""
    found = {name: asked[name] for name in ("is_enabled", "project_id") if name in asked}
    if asked.get("add_tags") or asked.get("remove_tags"):
        found["tags"] = tags_of(link, asked)
    for name, rows, field in (
        ("pixels", link.pixels, "pixels_ids"),
        ("handlers", link.handlers, "email_reports"),
    ):
        add, remove = asked.get(f"add_{name}") or (), asked.get(f"remove_{name}") or ()
        if add or remove:
            found[field] = sorted(({row.id for row in rows} | set(add)) - set(remove))
    return found | dates_of(asked)


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


def change(asked: Mapping[str, Any]) -> Callable[[Link], object]:
    return lambda link: services.update(link, changes_of(link, asked))


def act_on(user: User, ids: Sequence[int], act: Callable[[Link], object]) -> list[BulkFailure]:
    """Call `act` with each of these links, in one transaction, and commit it. Links that fail stay as they
    were, and are returned with the reason."""
    begin_write(db.session)
    failures = [failure for id_ in ids if (failure := tried(user, id_, act))]
    db.session.commit()
    return failures


def delete(user: User, ids: Sequence[int], batch: str | None) -> tuple[str, list[BulkFailure]]:
    """Move these links to the trash in one transaction, and commit it. Returns the batch, by which they can
    be restored, and those that were not there."""
    begin_write(db.session)
    batch, missing = services.delete_many(user.id, ids, batch)
    db.session.commit()
    return batch, [BulkFailure(id_, GONE) for id_ in sorted(missing)]


def tried(user: User, id_: int, act: Callable[[Link], object]) -> BulkFailure | None:
    """Call `act` with one link. None on success; on failure only this link's changes are undone."""
    kept = uploads.mark()
    try:
        with db.session.begin_nested():
            act(get_owned(user, Link, id_))
    except NotFound:
        return BulkFailure(id_, GONE)
    except WaypostError as error:
        uploads.back_to(kept)
        return BulkFailure(id_, " ".join(str(one.title) for one in error.errors))
    return None


def still_there(user: User, ids: Sequence[int]) -> dict[int, Link]:
    """The user's links with these ids that still exist, to describe them in messages."""
    found = db.session.scalars(select(Link).where(Link.user_id == user.id, Link.id.in_(ids)))
    return {link.id: link for link in found}
