"""Pages that save, rename, update and delete views of the list of links."""

from __future__ import annotations

from flask import Response, render_template
from flask.typing import ResponseReturnValue

from app.accounts.access import get_owned
from app.core.database import begin_write
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.dashboard.auth.access import submitted_form
from app.dashboard.links.filters import LISTING, VIEW, params_to_show, query_of, read_kept_query
from app.dashboard.links.views import FAMILY as LINKS
from app.dashboard.shared import list_params, rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.crud_views import CrudViews, FamilyWords, crud_route
from app.dashboard.shared.list_params import ListParams
from app.dashboard.shared.words import words_for
from app.dashboard.shared.workspace import current_access
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData
from app.input.forms import ResourceForm
from app.input.listing import Listing
from app.links import saved_views
from app.links.models import SavedView
from app.links.saved_views import SavedViewForm
from app.web.body import read_list_query


@crud_route("/links/views/new", "new")
@crud_route("/links/views/<int:id>", "edit")
class SavedViewPages(CrudViews):
    """The forms of a saved view. Its list is the bar above the links, where each of them ends."""

    name = "saved_views"
    title = _l("Links")
    words = FamilyWords(**words_for("families")[name])
    loss = _l("Its links stay as they are.")
    model, form, services = SavedView, SavedViewForm, saved_views
    listing = Listing(model=SavedView, filters={}, orders={})

    def typed(self, fields: RequestData) -> RequestData:
        return kept_fields(fields)

    def address(self, page: str = "", id: int | None = None, /, **query: str) -> str:
        return super().address(page, id, **query) if page else LINKS.address("", None, **query)

    def ask_new(self) -> Response:
        """The form for the view of a list with this request's parameters."""
        params = list_params.of_pairs(read_list_query(), LINKS.columns, LISTING.several)
        return self.view_page(self.read_form(None, None), query_of(params))

    def form_page(self, form: ResourceForm, status: int = 200) -> Response:
        return self.view_page(form, form["query"].raw_text(), status)

    def view_page(self, form: ResourceForm, query: str, status: int = 200) -> Response:
        heading = self.words.edit if form.stored is not None else self.words.create
        beside = {"form": form, "row": form.stored, "query": query or form["query"].raw_text()}
        return self.render_page("form", status, heading=heading, here="links", **beside)

    def created(self, row: SavedView) -> ResponseReturnValue:
        return self.show(_("%(name)s is saved.", name=row.name), params_to_show(row))

    def updated(self, row: SavedView, message: str = "") -> ResponseReturnValue:
        params = LINKS.asked_now() if rendering.is_fragment() else params_to_show(row)
        return self.show(message or _("%(name)s is saved.", name=row.name), params)

    def show(self, message: str, params: ListParams) -> ResponseReturnValue:
        """The list of links with these parameters, with the focus on its view."""
        address = LINKS.address("", None, **params)
        if not rendering.is_fragment():
            return rendering.redirect_with(message, address)
        context = LINKS.list_context(params)
        part = render_template(LINKS.template("list"), family=LINKS, lands_on_view=True, **context)
        response = rendering.swap_part(message, part, "#results", "innerHTML")
        response.headers["HX-Push-Url"] = address
        return response


def kept_fields(fields: RequestData) -> RequestData:
    """The fields with the query as a view keeps it."""
    if "query" not in fields:
        return fields
    kept = query_of(read_kept_query(str(fields.last("query"))))
    return RequestData(
        [(name, value) for name, _file, value in fields.pairs() if name != "query"] + [("query", kept)]
    )


PAGES = SavedViewPages.register()


@blueprint.post("/links/views/<int:id>/update", endpoint="saved_views_update")
def update_query(id: int) -> ResponseReturnValue:
    """Keep what the list shows now under the name of this view."""
    begin_write(db.session)
    view = get_owned(current_access(), SavedView, id)
    fields = kept_fields(submitted_form())
    form = SavedViewForm(fields, owner=current_access(), stored=view)
    form.require_valid()
    if "query" not in fields:
        raise Invalid(FieldError(_l("This is required."), "required", "query"))
    saved_views.update(view, {"query": form.changes["query"]})
    db.session.commit()
    return PAGES.show(_("%(name)s is saved.", name=view.name), params_to_show(view))


@blueprint.get("/links/views/<int:id>/remove", endpoint="saved_views_remove")
def ask_delete(id: int) -> Response:
    view = get_owned(current_access(), SavedView, id)
    return PAGES.render_page("delete_view", row=view, heading=PAGES.words.ask_delete, here="links")


@blueprint.post("/links/views/<int:id>/remove", endpoint="saved_views_remove_write")
def delete(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    view = get_owned(current_access(), SavedView, id)
    message = _("%(name)s is deleted.", name=view.name)
    saved_views.delete(view)
    db.session.commit()
    params = LINKS.asked_now()
    if params.get(VIEW) == str(id):
        params = list_params.without_names(params, VIEW)
    return PAGES.show(message, params)
