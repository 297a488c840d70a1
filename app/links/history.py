"""History of a link: each change with its actor, time, old and new values; and how to revert to one.

An earlier version may have a destination that is refused by now, a reserved alias, a domain turned off.
"""

# see docs/decisions/2026-11-25-restored-versions.md
from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import Table, delete, insert, select

from app.core.actor import acting
from app.core.clock import now
from app.core.database import UtcDateTime
from app.core.encryption import UnreadableSecret
from app.core.errors import FieldError, Invalid, NotFound
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData, Value
from app.links.change_events import record_changes
from app.links.models import Link, LinkChange
from app.links.previous_uploads import PICTURES as PICTURES
from app.links.previous_uploads import find
from app.links.schema import SETTINGS
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project

MAX_CHANGES = 100  # changes of a link
UNREADABLE = _l("A later change can't be read with this instance's secret key.")
COLUMNS = [name for name, one in SETTINGS.items() if one.is_recorded and name in Link.__table__.columns]
MOMENTS = {column.key for column in Link.__table__.columns if isinstance(column.type, UtcDateTime)}
ATTACHED = {"pixels_ids": ("pixels", Pixel), "email_reports": ("handlers", NotificationHandler)}
INSERT = insert(cast("Table", LinkChange.__table__))
Fields = dict[str, Any]


def fields_of(link: Link, changes: Fields) -> Fields:
    """The values of all columns. Tags, pixels and handlers only if `changes` has them: each costs a query."""
    found = {name: json_value(getattr(link, name)) for name in COLUMNS}
    for name, (attribute, _) in ATTACHED.items():
        if name in changes:
            found[name] = sorted(row.id for row in getattr(link, attribute))
    if "tags" in changes:
        found["tags"] = [row.tag for row in link.tag_rows]
    return found


def changed_values(link: Link, changes: Fields) -> dict[str, list[Any]]:
    """What `changes` would change: field → [before, after], as the history records it."""
    before = fields_of(link, changes)
    after = {name: json_value(value) for name, value in changes.items() if name in before}
    return {name: [before[name], value] for name, value in after.items() if before[name] != value}


def json_value(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.datetime) else value


def note_change(link: Link, before: Fields, changes: Fields, kind: str = "changed") -> None:
    """Record what differs from `before`, if anything does."""
    after = fields_of(link, changes)
    fields = {name: [before[name], value] for name, value in after.items() if before[name] != value}
    if fields:
        note([link], kind, fields)
        prune(link.id)


def note(links: Sequence[Link], kind: str, fields: Fields | None = None) -> None:
    """Record the same change for each of the links, by the current actor."""
    actor, moment = acting(), now()
    db.session.connection().execute(
        INSERT,
        [
            {
                "link_id": link.id,
                "workspace_id": link.workspace_id,
                "user_id": actor.user_id or link.user_id,
                "kind": kind,
                "way": actor.way,
                "who": actor.name,
                "person": actor.email,
                "batch": actor.batch or None,
                "fields": fields or {},
                "datetime": moment,
            }
            for link in links
        ],
    )
    record_changes(links, kind, fields or {})


def prune(link_id: int) -> None:
    mine = select(LinkChange.id).where(LinkChange.link_id == link_id).order_by(LinkChange.id.desc())
    oldest = mine.offset(MAX_CHANGES).limit(1).scalar_subquery()
    db.session.execute(
        delete(LinkChange).where(LinkChange.link_id == link_id, LinkChange.id <= oldest),
        execution_options={"synchronize_session": False},
    )


def history_of(link: Link) -> Sequence[LinkChange]:
    """The recorded changes of a link, newest first."""
    mine = select(LinkChange).where(LinkChange.link_id == link.id).order_by(LinkChange.id.desc())
    return db.session.scalars(mine).all()


def changes_back_to(link: Link, change_id: int) -> Fields:
    """The changes with which `links.services.update` makes the link as it was right after this change.

    A password is neither put back nor taken away. A picture whose file is gone stays as it is now. A pixel,
    handler or project that is gone is left out.
    Raises NotFound, and Invalid if a later change can't be read.
    """
    history = history_of(link)
    if change_id not in {change.id for change in history}:
        raise NotFound("change")
    found: Fields = {}
    for change in history:
        if change.id == change_id:
            break
        if isinstance(change.fields, UnreadableSecret):
            raise Invalid(FieldError(UNREADABLE, "unreadable"))
        found |= {name: before for name, (before, _) in change.fields.items()}
    return as_changes(link, {name: value for name, value in found.items() if is_restorable(name)})


def is_restorable(name: str) -> bool:
    """Whether an older value of this setting can come back: no secret, and no setting of an old version."""
    return name in SETTINGS and not SETTINGS[name].is_secret


def as_changes(link: Link, values: Fields) -> Fields:
    """Recorded values as the changes that put them back. Those that can't come back are left out."""
    found = dict(values)
    for name in PICTURES:
        if found.get(name) and not (file := find(link.id, found[name])):
            del found[name]
        elif found.get(name):
            found[name] = file
    return {name: as_changed(link.workspace_id, name, value) for name, value in found.items()}


def as_changed(workspace_id: int, name: str, value: Any) -> Any:
    if name in MOMENTS and value is not None:
        return dt.datetime.fromisoformat(value)
    if name in ATTACHED:
        return sorted(still_there(workspace_id, ATTACHED[name][1], value))
    if name == "project_id" and value is not None:
        return value if still_there(workspace_id, Project, [value]) else None
    return value


def still_there(workspace_id: int, model: type[Any], ids: Sequence[int]) -> set[int]:
    return set(
        db.session.scalars(select(model.id).where(model.workspace_id == workspace_id, model.id.in_(ids)))
    )


# --- an earlier version, written as a form would send it, so that today's rules can judge it


PAIRS = "targeting"


def as_sent(link: Link, changes: Mapping[str, Any]) -> RequestData:
    """The changes of `links.history.changes_back_to` as sent fields. Pictures were checked when they came."""
    plain = ((name, value) for name, value in changes.items() if name not in {PAIRS, *PICTURES})
    pairs = [pair for name, value in plain for pair in sent_fields(name, value)]
    if PAIRS in changes:
        type_ = changes.get("targeting_type", link.targeting_type)
        pairs += sent_pairs(f"targeting_{type_}", changes[PAIRS])
    return RequestData(pairs)


def sent_fields(name: str, value: Any) -> Iterator[tuple[str, Value]]:
    if not isinstance(value, list):
        yield name, sent_text(value)
        return
    yield from ((f"{name}[{index}]", sent_text(one)) for index, one in enumerate(value))
    if not value:
        yield name, ""


def sent_pairs(name: str, pairs: list[list[str]]) -> Iterator[tuple[str, Value]]:
    for index, (key, to) in enumerate(pairs):
        yield f"{name}_key[{index}]", key
        yield f"{name}_value[{index}]", to
    if not pairs:
        yield f"{name}_key", ""


def sent_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return value.isoformat() if isinstance(value, dt.datetime) else str(value)
