"""History page of a link: its changes in words, without secrets, and the return to an earlier state."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flask import Response, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from app.accounts.access import get_owned
from app.core.database import begin_write
from app.core.errors import AliasTaken, FieldError, Invalid
from app.core.extensions import db
from app.dashboard.links.link_cautions import back_cautions
from app.dashboard.links.rows import own_host, short_address
from app.dashboard.links.views import FAMILY
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.form_views import Caution, asks
from app.dashboard.shared.rendering import full_local_time
from app.dashboard.shared.workspace import current_access
from app.domains.models import Domain
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.links import bulk_edit, services
from app.links.history import MOMENTS, as_sent, changes_back_to, history_of
from app.links.models import Link, LinkChange
from app.links.previous_uploads import PICTURES, find
from app.links.schema import SETTINGS, LinkSetting
from app.links.targeting import TYPES
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project
from app.web.errors import status_of

KINDS = {
    "created": _l("Created"),
    "changed": _l("Changed"),
    "reverted": _l("Earlier version restored"),
    "deleted": _l("Deleted"),
    "restored": _l("Restored"),
    "sample": _l("Sample data"),
}
#: fields that name rows of other tables
NAMED: Mapping[str, tuple[Any, Any]] = {
    "pixels_ids": (Pixel, Pixel.name),
    "email_reports": (NotificationHandler, NotificationHandler.name),
    "project_id": (Project, Project.name),
    "domain_id": (Domain, Domain.host),
}
# a setting of an earlier version, which an old change may name
UNKNOWN = LinkSetting()
GONE = _l("A deleted one")
PICTURE, OTHER_PICTURE, GONE_PICTURE = _l("A picture"), _l("Another picture"), _l("A picture that is gone")


ChangedFields = Mapping[str, Sequence[Any]]  # field → [before, after]


class FieldChange(NamedTuple):
    """One field of a change: its label, and before and after in words; "" for nothing."""

    label: str
    before: str
    after: str


class Wording:
    """Words for one link's changes; the names of what they mention are read once for all of them."""

    def __init__(self, workspace_id: int, history: Sequence[LinkChange], zone: dt.tzinfo) -> None:
        self.workspace_id, self.zone = workspace_id, zone
        self.names: dict[str, dict[int, str]] = {name: {} for name in NAMED}
        self.learn(change.fields for change in history)

    def learn(self, changes: Iterable[ChangedFields]) -> None:
        """Read the names of what these changes mention and no earlier one has."""
        changes = list(changes)
        for name, (model, column) in NAMED.items():
            wanted = {id_ for fields in changes for value in fields.get(name, ()) for id_ in as_list(value)}
            if wanted := wanted - self.names[name].keys():
                found = select(model.id, column).where(
                    model.workspace_id == self.workspace_id, model.id.in_(wanted)
                )
                self.names[name] |= dict(db.session.execute(found).all())

    def kind(self, change: LinkChange) -> str:
        return KINDS[change.kind]

    def fields(self, change: LinkChange) -> Iterator[FieldChange]:
        for name, (before, after) in change.fields.items():
            setting = SETTINGS.get(name, UNKNOWN)
            label = setting.label or name
            if setting.is_secret:
                yield FieldChange(label, *words_of_secret(before, after))
            elif name in PICTURES:
                yield FieldChange(label, *words_of_picture(change.link_id, before, after))
            else:
                yield FieldChange(label, self.words(name, before), self.words(name, after))

    def words(self, name: str, value: Any) -> str:
        if name == "domain_id" and value is None:
            return own_host()
        if value is None or value == [] or value == "":
            return ""
        if isinstance(value, bool):
            return _("On") if value else _("Off")
        if name in NAMED:
            return ", ".join(self.names[name].get(id_) or str(GONE) for id_ in as_list(value))
        if name in MOMENTS:
            return full_local_time(dt.datetime.fromisoformat(value), self.zone)
        if name == "targeting":
            return "\n".join(f"{key} → {to}" for key, to in value)
        if choices := SETTINGS.get(name, UNKNOWN).choices:
            return str(choices.get(value, value))
        return ", ".join(value) if isinstance(value, list) else str(value)


def describe_problem(problem: FieldError) -> str:
    """Why an older version can't be restored, with the setting that it is about."""
    name = re.sub(r"(_key|_value)?(\[\d+\])?$", "", problem.field or "")
    setting = SETTINGS.get("targeting" if name.removeprefix("targeting_") in TYPES else name)
    return f"{setting.label}: {problem.title}" if setting else str(problem.title)


def words_of_secret(before: Any, after: Any) -> tuple[str, str]:
    """Words that say only whether a secret is set, and whether it was replaced."""
    return _("Set") if before else "", _("Set again") if before and after else _("Set") if after else ""


def words_of_picture(link_id: int, before: str | None, after: str | None) -> tuple[str, str]:
    another = OTHER_PICTURE if before else PICTURE
    return word_of_picture(link_id, before, PICTURE), word_of_picture(link_id, after, another)


def word_of_picture(link_id: int, name: str | None, word: str) -> str:
    return "" if not name else word if find(link_id, name) else GONE_PICTURE


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


@blueprint.get("/links/<int:id>/history", endpoint="links_history")
def show(id: int) -> Response:
    return render_history(get_owned(current_access(), Link, id))


def render_history(
    link: Link, problem: str = "", status: int = 200, cautions: Sequence[Caution] = (), change_id: int = 0
) -> Response:
    """The page. `cautions`: what the return to the change `change_id` breaks."""
    history = history_of(link)
    return rendering.render_page(
        "dashboard/history/page.html",
        "dashboard/history/_history.html",
        status=status,
        here="links",
        family=FAMILY,
        link=link,
        history=history,
        wording=Wording(link.workspace_id, history, rendering.owner_zone()),
        together=bulk_edit.count_links(link.workspace_id, (one.batch for one in history if one.batch)),
        zone=rendering.owner_zone(),
        heading=_("History of %(address)s", address=short_address(link)),
        problem=problem,
        cautions=cautions,
        change_id=change_id,
    )


def in_dialog(answer: Response) -> Response:
    answer.headers["HX-Retarget"] = "#sheet-box"
    return answer


@blueprint.post("/links/<int:id>/history/<int:change_id>", endpoint="links_revert")
def revert(id: int, change_id: int) -> ResponseReturnValue:
    """Restore the link as it was right after this change. A question or error is shown above the history."""
    begin_write(db.session)
    link = get_owned(current_access(), Link, id)
    try:
        changes = changes_back_to(link, change_id)
        FAMILY.make_form(as_sent(link, changes), link).require_valid()
        if asks(cautions := back_cautions(link, changes)):
            db.session.rollback()
            return in_dialog(render_history(link, status=409, cautions=cautions, change_id=change_id))
        before = history_of(link)[0]
        services.revert(link, change_id)
        undo = undo_address(link, before)
        db.session.commit()
    except (Invalid, AliasTaken) as error:
        db.session.rollback()
        problem = " ".join(describe_problem(one) for one in error.errors)
        return in_dialog(render_history(get_owned(current_access(), Link, id), problem, status_of(error)))
    message = _("The earlier version of %(address)s is restored.", address=short_address(link))
    if rendering.is_fragment() and rendering.is_at(FAMILY.address()):
        return rendering.swap_part(message, FAMILY.row(link), f"#row-{link.id}", "outerHTML", undo=undo)
    return rendering.redirect_with(message, FAMILY.address(), undo=undo)


def undo_address(link: Link, before: LinkChange) -> str:
    """What takes a return back: the return to the newest change before it. "" where nothing was changed."""
    is_changed = history_of(link)[0].id != before.id
    return url_for("dashboard.links_revert", id=link.id, change_id=before.id) if is_changed else ""
