"""Pages of links: list, forms for one or many, preview, and row actions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from flask import Response, g, make_response, render_template, request
from flask.typing import ResponseReturnValue

from app.accounts.access import get_owned
from app.core.database import begin_write
from app.core.extensions import db
from app.dashboard.auth.access import submitted_form
from app.dashboard.links import choices, framing_check, suggestions
from app.dashboard.links.choices import copied_link
from app.dashboard.links.filters import LISTING, view_bar
from app.dashboard.links.link_cautions import link_cautions
from app.dashboard.links.preview import has_password, previewed, previewed_fields, sent_proposal
from app.dashboard.links.rows import COLUMNS, beside_rows, load_addresses, places, short_address, short_url
from app.dashboard.shared import form_input
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.crud_views import Context, CrudViews, FamilyWords, crud_route
from app.dashboard.shared.form_views import Caution, add_form
from app.dashboard.shared.list_params import Control, ListParams
from app.dashboard.shared.words import words_for
from app.dashboard.shared.workspace import current_access
from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.i18n.messages import ngettext
from app.input.data import RequestData
from app.input.forms import ResourceForm
from app.links import services
from app.links.forms import LinkForm
from app.links.models import Link
from app.web.body import read_params


@crud_route("/links/", "list")
@crud_route("/links/new", "new")
@crud_route("/links/<int:id>", "edit")
@crud_route("/links/<int:id>/delete", "delete")
class LinkViews(CrudViews):
    """The pages of links, with a preview beside the form, and duplicates."""

    name = "links"
    title = _l("Links")
    intro = _l("Short links and their destinations.")
    search_hint = _l("Search address, destination, title, tags, notes")
    words = FamilyWords(**words_for("families")[name])
    is_kept = True
    loss = _l("Its short link stops working at once, and other users can't take it for 30 days.")
    model, form, services, listing = Link, LinkForm, services, LISTING
    columns: ClassVar = COLUMNS
    new: ClassVar = {"is_enabled": True, "http_status_code": 302}
    is_bulk = False

    def title_of(self, row: Link) -> str:
        return short_address(row)

    def controls(self) -> list[Control]:
        return choices.controls()

    def typed(self, fields: RequestData) -> RequestData:
        return suggestions.link_fields(fields)

    def cautions(self, form: LinkForm) -> Sequence[Caution]:
        return link_cautions(form)

    def warning(self, rows: Sequence[Link]) -> str | None:
        return framing_check.warning(rows)

    def form_context(self, form: Any) -> Context:
        return choices.beside_form(form)

    def rows_context(self, rows: Sequence[Link]) -> Context:
        return beside_rows(rows)

    def list_context(self, parameters: ListParams, fresh: Sequence[Any] = ()) -> Context:
        bar = view_bar(current_access(), parameters)
        return super().list_context(parameters, fresh) | {"bar": bar}

    def read_form(self, fields: RequestData | None, stored: Any) -> ResourceForm:
        if fields is not None and stored is None:
            fields = form_input.with_bulk(fields, is_bulk=self.is_bulk)
        form = super().read_form(fields, stored)
        if fields is not None and "again" not in fields:
            suggestions.refuse_lost(form, fields)
        return form

    def ask_new(self) -> ResponseReturnValue:
        """An empty form; with `copy` a duplicate of that link; with `location_url` that destination."""
        copied = copied_link()
        form = self.make_form(None, None, like=copied)
        address = read_params().get("location_url")
        if address and not copied:
            form["location_url"].data = form_input.complete(address)
        return self.link_page(form, _("Duplicate link") if copied else self.words.create)

    def form_page(self, form: ResourceForm, status: int = 200) -> Response:
        heading = self.words.edit if form.stored is not None else self.words.create
        return self.link_page(form, heading, status)

    def link_page(self, form: ResourceForm, heading: str, status: int = 200) -> Response:
        """The form, with the preview of the link beside it."""
        g.suggested = suggestions.panel_of_request()
        sent = submitted_form() if request.method == "POST" else RequestData()
        g.preview = previewed(form, has_password=has_password(sent, form.stored or copied_link()))
        return self.render_form("form", heading, form, status)

    def save_new(self, form: ResourceForm) -> Any:
        """Create the link of the sent fields; a duplicate also has those that no control can carry over."""
        copied = copied_link()
        proposed = {"proposed_url": sent_proposal()} if not form.changes.get("url") else {}
        carried_over = services.carried_over(copied) if copied else {}
        return services.create(current_access(), {**carried_over, **form.changes, **proposed})

    def created(self, row: Any) -> ResponseReturnValue:
        """Show the new link in the list, and copy its address to the clipboard."""
        message = _("%(name)s is created.", name=short_address(row))
        part = partial(self.list_with, row)
        return self.done(message, part, warning=self.warning([row]), copy=short_url(row))


class DestinationViews(LinkViews):
    """The form of a link's destination alone."""

    def form_page(self, form: ResourceForm, status: int = 200) -> Response:
        heading = _("Destination of %(address)s", address=short_address(form.stored))
        return self.render_page("destination", status, form=form, row=form.stored, heading=heading)


class BulkViews(LinkViews):
    """The form that creates many links."""

    is_bulk = True

    def ask_new(self) -> ResponseReturnValue:
        return self.form_page(self.read_form(None, None))

    def form_page(self, form: ResourceForm, status: int = 200) -> Response:
        return self.render_form("bulk", _("Bulk create links"), form, status)

    def save_new(self, form: ResourceForm) -> Sequence[Link]:
        return services.create_bulk(current_access(), form.changes)

    def created(self, row: Any) -> ResponseReturnValue:
        """Show the new links: the newest first, as in the list, and one page of them at most."""
        rows: Sequence[Link] = row
        count = len(rows)
        message = ngettext("1 link is created.", "%(number)s links are created.", count, number=digits(count))
        shown = lambda: created_box(rows) + self.list_with(*reversed(rows[-25:]))  # noqa: E731
        return self.done(message, shown, warning=self.warning(rows))


FAMILY = LinkViews.register()
DESTINATION, BULK = DestinationViews(), BulkViews()
add_form("/links/<int:id>/destination", "links_destination", DESTINATION.ask_edit, DESTINATION.update)
add_form("/links/bulk", "links_bulk", BULK.ask_new, BULK.create)


@blueprint.post("/links/preview", endpoint="links_preview")
@blueprint.post("/links/<int:id>/preview", endpoint="links_preview_of")
def preview(id: int | None = None) -> Response:
    """The preview of the link that is being edited. Nothing is stored."""
    stored = get_owned(current_access(), Link, id) if id is not None else None
    form = FAMILY.read_form(previewed_fields(submitted_form()), stored)
    form.validate()
    shown = previewed(form, has_password=has_password(submitted_form(), stored))
    beside = {"cautions": link_cautions(form), "asked": False, "is_anew": True}
    return make_response(render_template("dashboard/links/_preview.html", preview=shown, **beside))


@blueprint.get("/links/<int:id>/more", endpoint="links_more")
def show_more(id: int) -> Response:
    """The menu of a row as a page, for browsers without JavaScript."""
    row = get_owned(current_access(), Link, id)
    return FAMILY.render_page(
        "more", row=row, heading=short_address(row), short_url=short_url(row), places=places
    )


@blueprint.post("/links/<int:id>/switch", endpoint="links_switch")
def switch(id: int) -> ResponseReturnValue:
    """Turn the link on (`is_enabled` 1) or off (0): what the button said, whatever happened meanwhile."""
    is_enabled = "1" in submitted_form().getlist("is_enabled")
    begin_write(db.session)
    row = get_owned(current_access(), Link, id)
    services.update(row, {"is_enabled": is_enabled})
    db.session.commit()
    address = short_address(row)
    is_on = _("%(address)s is on.", address=address)
    return FAMILY.updated(row, is_on if row.is_enabled else _("%(address)s is off.", address=address))


def created_box(rows: Sequence[Link]) -> str:
    """What stands above the list until it is asked for again: all new short links to copy or share."""
    load_addresses(rows)
    return render_template("dashboard/links/_created.html", addresses=[short_url(row) for row in rows])
