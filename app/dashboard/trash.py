"""Trash page: restores deleted rows, or deletes them for good."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flask import Response, flash, make_response, render_template, url_for
from flask.typing import ResponseReturnValue

from app.core import clock
from app.core.database import begin_write
from app.core.errors import AliasTaken, Invalid
from app.core.extensions import db
from app.dashboard import pixels
from app.dashboard.auth.access import is_shown_again, submitted_form
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.handlers import views as handler_views
from app.dashboard.links import views as link_views
from app.dashboard.links.choices import usable_domains
from app.dashboard.links.rows import own_host
from app.dashboard.shared import list_params, rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.crud_views import CrudViews
from app.dashboard.shared.form_views import note
from app.dashboard.shared.workspace import current_access, workspace_id
from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.i18n.messages import ngettext
from app.input.listing import Listing, find_page
from app.links import services as link_services
from app.links.forms import RestoreForm
from app.links.models import Link
from app.links.removal import empty_trash
from app.notifications import services as handler_services
from app.pixels import services as pixel_services
from app.trash import services
from app.trash.models import Trashed
from app.web.errors import status_of

LISTING = Listing(model=Trashed, filters={}, orders={})
NEWEST_FIRST = {"order_type": "DESC"}


class TrashKind(NamedTuple):
    """One kind of row in the trash, and the service that restores it. Its words are whole messages."""

    family: CrudViews
    icon: str
    restore: Callable[[Trashed], Any]
    name: str
    ask_restore: str
    ask_erase: str


KINDS = {
    kind.family.model.__tablename__: kind
    for kind in (
        TrashKind(
            link_views.FAMILY,
            "link",
            link_services.restore,
            name=_l("link"),
            ask_restore=_l("Restore this link"),
            ask_erase=_l("Delete this link for good?"),
        ),
        TrashKind(
            pixels.FAMILY,
            "radio",
            pixel_services.restore,
            name=_l("pixel"),
            ask_restore=_l("Restore this pixel"),
            ask_erase=_l("Delete this pixel for good?"),
        ),
        TrashKind(
            handler_views.FAMILY,
            "bell",
            handler_services.restore,
            name=_l("handler"),
            ask_restore=_l("Restore this handler"),
            ask_erase=_l("Delete this handler for good?"),
        ),
    )
}
LINK = Link.__tablename__


def render_page(name: str, status: int = 200, **context: Any) -> Response:
    return rendering.render_in("dashboard/trash", name, status, here="trash", **context)


@blueprint.get("/trash/", endpoint="trash")
def show() -> Response:
    return render_page("list", **listed(list_params.of_request()))


def listed(parameters: dict[str, str]) -> dict[str, Any]:
    kept = {name: value for name, value in parameters.items() if name == "page" and value.isdigit()}
    return {
        "found": find_page(LISTING, workspace_id(), {**NEWEST_FIRST, **kept}),
        "kinds": KINDS,
        "now": clock.now(),
        "zone": rendering.owner_zone(),
    }


# ----------------------------------------------------------------- restore


@blueprint.get("/trash/<int:id>/restore", endpoint="trash_restore")
def ask_restore(id: int) -> Response:
    return restore_page(services.find(workspace_id(), id), restore_form(None))


def restore_page(one: Trashed, form: RestoreForm, status: int = 200) -> Response:
    services.require_readable([one])
    row = one.rows[one.kind][0]
    if one.kind == LINK and not sent_any(form):
        form.url.data, form.domain_id.data = row["url"], row["domain_id"]
    return render_page(
        "restore",
        status,
        one=one,
        form=form,
        kind=KINDS[one.kind],
        is_link=one.kind == LINK,
        domains=usable_domains(None),
        own_host=own_host(),
        heading=KINDS[one.kind].ask_restore,
    )


def restore_form(fields: Any) -> RestoreForm:
    return RestoreForm(fields, owner=current_access())


def sent_any(form: RestoreForm) -> bool:
    return bool(form.url.sent or form.domain_id.sent)


@blueprint.post("/trash/<int:id>/restore", endpoint="trash_restore_write")
def restore(id: int) -> ResponseReturnValue:
    """Restore a row as it was. If that fails, show the form with the errors, to choose another address."""
    form = restore_form(submitted_form())
    if is_shown_again():
        return restore_page(services.find(workspace_id(), id), form)
    try:
        form.require_valid()
        begin_write(db.session)
        one = services.find(workspace_id(), id)
        services.require_readable([one])
        kind = KINDS[one.kind]
        row = link_services.restore(one, form.changes) if one.kind == LINK else kind.restore(one)
        message = _("%(name)s is restored.", name=kind.family.title_of(row))
        db.session.commit()
    except (Invalid, AliasTaken) as error:
        note(form, error)
        answer = restore_page(services.find(workspace_id(), id), form, status_of(error))
        answer.headers["HX-Retarget"], answer.headers["HX-Reswap"] = "#sheet-box", "innerHTML"
        return answer
    return done(message)


@blueprint.post("/trash/undo/<batch>", endpoint="trash_undo")
def undo(batch: str) -> ResponseReturnValue:
    """Restore all rows of one deletion. Links that can't have their old address back stay in the trash."""
    begin_write(db.session)
    found = services.find_batch(workspace_id(), batch)
    some_links = [one for one in found if one.kind == LINK]
    back, stuck = link_services.restore_many(some_links)
    others = [(KINDS[one.kind], KINDS[one.kind].restore(one)) for one in found if one.kind != LINK]
    names = [link_views.FAMILY.title_of(row) for row in back[:1]]
    names += [kind.family.title_of(row) for kind, row in others]
    db.session.commit()
    message, warning = restored_message(len(back) + len(others), names, stuck)
    family = others[0][0].family if others else link_views.FAMILY
    return shown_again(family, [*back[:25], *(row for _, row in others)], message, warning)


def restored_message(count: int, names: Sequence[str], stuck: Sequence[Trashed]) -> tuple[str, str | None]:
    message = (
        _("%(name)s is restored.", name=names[0])
        if count == 1
        else _("%(count)s restored.", count=digits(count))
        if count
        else ""
    )
    if not stuck:
        return message, None
    warning = ngettext(
        "%(name)s needs another short link. Restore from the trash to choose one.",
        "%(number)s need another short link. Restore from the trash to choose one.",
        len(stuck),
        name=stuck[0].name,
        number=digits(len(stuck)),
    )
    return message, warning


def shown_again(
    family: CrudViews, rows: Sequence[Any], message: str, warning: str | None
) -> ResponseReturnValue:
    """Swap the list that the user is looking at, with the rows on top; any other page is reloaded."""
    if not rendering.is_fragment():
        return rendering.redirect_with(message, family.address(), warning)
    if rendering.is_at(family.address()):
        return rendering.swap_part(message, family.list_with(*rows), "#results", "innerHTML", warning)
    for text, category in ((message, "message"), (warning, "error")):
        if text:
            flash(text, category)
    return make_response("", 200, {"HX-Refresh": "true"})


# ----------------------------------------------------------- delete for good


@blueprint.get("/trash/<int:id>/delete", endpoint="trash_erase")
def ask_erase(id: int) -> Response:
    one = services.find(workspace_id(), id)
    return render_page("erase", one=one, heading=KINDS[one.kind].ask_erase)


@blueprint.post("/trash/<int:id>/delete", endpoint="trash_erase_write")
@reauthenticated(ask_erase)
def erase(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    name = services.find(workspace_id(), id).name
    empty_trash(workspace_id(), [id])
    db.session.commit()
    return done(_("%(name)s is deleted.", name=name))


@blueprint.get("/trash/empty", endpoint="trash_empty")
def ask_empty() -> Response:
    return render_page("empty", heading=_("Empty the trash?"))


@blueprint.post("/trash/empty", endpoint="trash_empty_write")
@reauthenticated(ask_empty)
def empty() -> ResponseReturnValue:
    begin_write(db.session)
    empty_trash(workspace_id())
    db.session.commit()
    return done(_("The trash is empty."))


def done(message: str) -> ResponseReturnValue:
    parameters = list_params.of_current_page(url_for("dashboard.trash"))
    return rendering.show_list(
        message,
        url_for("dashboard.trash"),
        lambda: render_template("dashboard/trash/_list.html", in_dialog=True, **listed(parameters)),
    )
