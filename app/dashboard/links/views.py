"""Pages of links: list, forms for one or many, preview, and row actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Response, g, make_response, render_template, request
from flask.typing import ResponseReturnValue

from app.accounts.ownership import get_owned
from app.core.database import begin_write
from app.core.extensions import db
from app.dashboard.auth.access import submitted_form
from app.dashboard.links import framing_check, suggestions
from app.dashboard.links.choices import beside_form, controls, copied_link
from app.dashboard.links.filters import LISTING
from app.dashboard.links.link_cautions import link_cautions
from app.dashboard.links.preview import has_password, previewed, previewed_fields
from app.dashboard.links.proposals import sent_proposal
from app.dashboard.links.rows import COLUMNS, beside_rows, load_addresses, places, short_address, short_url
from app.dashboard.links.view_bar import view_bar
from app.dashboard.shared import form_input
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.crud_views import Context, CrudViews, FamilyWords, crud_route
from app.dashboard.shared.list_params import ListParams
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
@dataclass(frozen=True, kw_only=True)
class LinkViews(CrudViews):
    """The usual pages, with a preview beside the form, and duplicates."""

    def form_page(
        self, form: ResourceForm, status: int = 200, name: str = "form", heading: str = ""
    ) -> Response:
        """The form, with the preview of the link beside it."""
        if name == "form":
            g.suggested = suggestions.panel_of_request()
            g.preview = previewed(
                form, has_password=has_password(self.sent_now(), form.stored or copied_link())
            )
        return super().form_page(form, status, name, heading)

    def list_context(self, parameters: ListParams, fresh: Sequence[Any] = ()) -> Context:
        bar = view_bar(current_access(), parameters)
        return super().list_context(parameters, fresh) | {"bar": bar}

    def read_form(self, fields: RequestData | None, stored: Any, like: Any = None) -> ResourceForm:
        form = super().read_form(fields, stored, like)
        if fields is not None and "again" not in fields:
            suggestions.refuse_lost(form, fields)
        return form

    def sent_now(self) -> RequestData:
        return submitted_form() if request.method == "POST" else RequestData()

    def ask_new(self) -> Response:
        """An empty form; with `copy` a duplicate of that link; with `location_url` that destination."""
        copied = copied_link()
        form = self.read_form(None, None, like=copied)
        address = read_params().get("location_url")
        if address and not copied:
            form["location_url"].data = form_input.complete(address)
        return self.form_page(form, heading=_("Duplicate link") if copied else "")

    def create(self) -> ResponseReturnValue:
        form = self.read_form(form_input.with_bulk(submitted_form(), is_bulk=False), None)
        return self.write(
            form, lambda: services.create(current_access(), self.changes_of(form)), self.created
        )

    def changes_of(self, form: ResourceForm) -> dict[str, Any]:
        """The sent fields, for a duplicate also those that no control can carry over."""
        copied = copied_link()
        proposed = {"proposed_url": sent_proposal()} if not form.changes.get("url") else {}
        return {**(services.carried_over(copied) if copied else {}), **form.changes, **proposed}

    def created(self, row: Link) -> ResponseReturnValue:
        """Show the new link in the list, and copy its address to the clipboard."""
        message = _("%(name)s is created.", name=short_address(row))
        address = short_url(row)
        return self.done(message, partial(self.list_with, row), warning=self.warning([row]), copy=address)


FAMILY = LinkViews(
    name="links",
    title=_l("Links"),
    intro=_l("Short links and their destinations."),
    search_hint=_l("Search address, destination, title, tags, notes"),
    words=FamilyWords(
        create=_l("Create link"),
        edit=_l("Edit link"),
        delete=_l("Delete link"),
        ask_delete=_l("Delete this link?"),
        none_found=_l("No links match"),
        show_all=_l("Show all links"),
    ),
    is_kept=True,
    loss=_l("Its short link stops working at once, and other users can't take it for 30 days."),
    model=Link,
    form=LinkForm,
    services=services,
    listing=LISTING,
    title_of=short_address,
    controls=controls,
    beside_form=beside_form,
    beside_rows=beside_rows,
    typed=suggestions.link_fields,
    warning=framing_check.warning,
    cautions=link_cautions,
    columns=COLUMNS,
    new={"is_enabled": True, "http_status_code": 302},
)


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


@blueprint.get("/links/<int:id>/destination", endpoint="links_destination")
def ask_destination(id: int) -> Response:
    return destination_page(FAMILY.read_form(None, get_owned(current_access(), Link, id)))


@blueprint.post("/links/<int:id>/destination", endpoint="links_destination_write")
def update_destination(id: int) -> ResponseReturnValue:
    return FAMILY.edit(id, FAMILY.updated, destination_page)


def destination_page(form: ResourceForm, status: int = 200) -> Response:
    heading = _("Destination of %(address)s", address=short_address(form.stored))
    return FAMILY.render_page("destination", status, form=form, row=form.stored, heading=heading)


@blueprint.get("/links/bulk", endpoint="links_bulk")
def ask_bulk() -> Response:
    return bulk_page(FAMILY.read_form(None, None))


@blueprint.post("/links/bulk", endpoint="links_bulk_write")
def create_bulk() -> ResponseReturnValue:
    form = FAMILY.read_form(form_input.with_bulk(submitted_form(), is_bulk=True), None)
    return FAMILY.write(
        form, lambda: services.create_bulk(current_access(), form.changes), created_bulk, bulk_page
    )


def created_bulk(rows: Sequence[Link]) -> ResponseReturnValue:
    message = ngettext(
        "1 link is created.", "%(number)s links are created.", len(rows), number=digits(len(rows))
    )
    # the newest first, as in the list, and one page of them at most
    shown = lambda: created_box(rows) + FAMILY.list_with(*reversed(rows[-25:]))  # noqa: E731
    return FAMILY.done(message, shown, warning=FAMILY.warning(rows))


def created_box(rows: Sequence[Link]) -> str:
    """What stands above the list until it is asked for again: all new short links to copy or share."""
    load_addresses(rows)
    return render_template("dashboard/links/_created.html", addresses=[short_url(row) for row in rows])


def bulk_page(form: Any, status: int = 200) -> Response:
    return FAMILY.form_page(form, status, "bulk", _("Bulk create links"))
