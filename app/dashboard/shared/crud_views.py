"""Pages of one kind of row: list, create, edit and delete.

Every page works in two ways. htmx gets fragments: a form for the dialog, afterwards the row for the list.
A browser without JavaScript gets whole pages, and is redirected to the list with a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from flask import Response, current_app, render_template, request, url_for
from flask.typing import ResponseReturnValue

from app.core.database import begin_write
from app.core.extensions import db
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.shared import list_params, rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.form_views import FormView, View, add_form
from app.dashboard.shared.list_params import Control, ListParams
from app.dashboard.shared.workspace import current_access, workspace_id
from app.i18n.messages import gettext as _
from app.input.data import RequestData
from app.input.forms import ResourceForm
from app.input.listing import Listing, find_page
from app.input.params import Several

Context = dict[str, Any]
Views = TypeVar("Views", bound="type[CrudViews]")


def crud_route(rule: str, page: str) -> Callable[[Views], Views]:
    """Class decorator: the path of one page of the rows, "list", "new", "edit" or "delete"."""

    def add(views: Views) -> Views:
        views.rules = {page: rule, **views.rules}
        return views

    return add


class FamilyWords(NamedTuple):
    """What pages of one kind of row say with its noun in it, each a whole message.

    A noun in a slot would be wrong in languages that have articles, genders and cases.
    """

    create: str
    edit: str
    delete: str
    ask_delete: str
    none_found: str = ""
    show_all: str = ""


class CrudViews(FormView):
    """The pages of one kind of row. A subclass says what they are called, and overrides what is its own.

    `services` is the module with `create`, `update` and `delete`.
    """

    rules: ClassVar[dict[str, str]] = {}  # the path of each page
    name: str  # of the folder of templates, and in endpoints
    title: str
    intro: str = ""
    search_hint: str = ""
    words: FamilyWords
    loss: str  # the words that say what deleting one means
    is_kept = False  # whether a deleted one goes to the trash
    form: type[ResourceForm]
    listing: Listing[Any]
    new: ClassVar[Mapping[str, Any]] = {}  # initial values of a new one
    columns: ClassVar[Mapping[str, str]] = {}  # those to show or hide, with their words

    def title_of(self, row: Any) -> str:
        return str(row.name)

    def controls(self) -> list[Control]:
        """The filters of the list."""
        return []

    def form_context(self, form: Any) -> Context:  # noqa: ARG002  for subclasses
        """What the template of the form needs besides."""
        return {}

    def rows_context(self, rows: Sequence[Any]) -> Context:  # noqa: ARG002  for subclasses
        """What the template of rows needs besides."""
        return {}

    def warning(self, rows: Sequence[Any]) -> str | None:  # noqa: ARG002  for subclasses
        """What is to be said of rows that were just saved."""
        return None

    @classmethod
    def register(cls) -> Self:
        """Make the views, and add their pages to the blueprint, each at the path of its `crud_route`."""
        views = cls()
        forms: dict[str, tuple[View, View]] = {
            "new": (views.ask_new, views.create),
            "edit": (views.ask_edit, views.update),
            "delete": (views.ask_delete, reauthenticated(views.ask_delete)(views.delete)),
        }
        for page, rule in cls.rules.items():
            if page == "list":
                blueprint.add_url_rule(rule, views.name, views.show_list)
            else:
                add_form(rule, views.endpoint(page), *forms[page])
        return views

    def endpoint(self, page: str = "") -> str:
        return f"{self.name}_{page}" if page else self.name

    def address(self, page: str = "", id: int | None = None, /, **query: str) -> str:
        values: dict[str, Any] = query if id is None else {**query, "id": id}
        several = {name: list(value.values) for name, value in query.items() if isinstance(value, Several)}
        return url_for(f"dashboard.{self.endpoint(page)}", **{**values, **several})

    # --- pages

    def show_list(self) -> Response:
        """The rows that the parameters select; newest first unless they say otherwise."""
        parameters = list_params.of_request(self.columns, self.listing.several)
        context = self.list_context(parameters)
        response = self.render_page("list", 422 if context["wrong"] else 200, **context)
        if rendering.is_fragment():  # without the empty controls
            response.headers["HX-Push-Url"] = self.address(**parameters)
        return response

    def ask_delete(self, id: int) -> Response:
        row = self.get_row(id)
        return self.render_page("delete", row=row, title=self.title_of(row), heading=self.words.ask_delete)

    def delete(self, id: int) -> ResponseReturnValue:
        begin_write(db.session)
        row = self.get_row(id)
        message = _("%(name)s is deleted.", name=self.title_of(row))
        batch = self.services.delete(row)
        db.session.commit()
        return self.gone(message, url_for("dashboard.trash_undo", batch=batch) if batch else "")

    def make_form(self, fields: RequestData | None, stored: Any, like: Any = None) -> ResourceForm:
        """The form by the rules for this user on this host. A new row starts with the values of `like`."""
        return self.form(
            fields,
            owner=current_access(),
            stored=stored,
            like=like,
            data=self.new if stored is None and like is None else {},
            zone=rendering.owner_zone(),
            settings=current_app.config["WAYPOST"],
            host=request.host,
        )

    def form_page(self, form: ResourceForm, status: int = 200) -> Response:
        heading = self.words.edit if form.stored is not None else self.words.create
        return self.render_form("form", heading, form, status)

    def render_form(self, name: str, heading: str, form: ResourceForm, status: int) -> Response:
        beside = {"cautions": self.cautions(form), "asked": form.is_asked, **self.form_context(form)}
        return self.render_page(name, status, form=form, row=form.stored, heading=heading, **beside)

    # --- answers to what was written

    def created(self, row: Any) -> ResponseReturnValue:
        message = _("%(name)s is created.", name=self.title_of(row))
        return self.done(message, partial(self.list_with, row), warning=self.warning([row]))

    def updated(self, row: Any, message: str = "") -> ResponseReturnValue:
        message = message or _("%(name)s is saved.", name=self.title_of(row))
        warning = self.warning([row])
        return self.done(message, partial(self.row, row), f"#row-{row.id}", "outerHTML", warning)

    def gone(self, message: str, undo: str) -> ResponseReturnValue:
        """Answer a deletion. `undo` is the address that restores the rows, "" where none can."""
        return rendering.show_list(message, self.address(), self.list_with, undo=undo)

    def done(
        self,
        message: str,
        part: Callable[[], str],
        target: str = "#results",
        swap: str = "innerHTML",
        warning: str | None = None,
        copy: str | None = None,
    ) -> ResponseReturnValue:
        if not rendering.is_fragment():
            return rendering.redirect_with(message, self.address(), warning)
        return rendering.swap_part(message, part(), target, swap, warning, copy=copy)

    # --- what is rendered

    def render_page(self, name: str, status: int = 200, **context: Any) -> Response:
        whole = "dashboard/list.html" if name == "list" else "dashboard/form.html"
        context = {"family": self, "here": self.name} | context
        return rendering.render_page(whole, self.template(name), status=status, **context)

    def template(self, name: str) -> str:
        return f"dashboard/{'' if name in {'list', 'delete'} else f'{self.name}/'}_{name}.html"

    def row(self, row: Any) -> str:
        shown = list_params.columns_of(self.asked_now(), self.columns)
        beside = {"zone": rendering.owner_zone(), "shown": shown} | self.rows_context([row])
        return render_template(self.template("row"), family=self, row=row, fresh=[row.id], **beside)

    def asked_now(self) -> ListParams:
        """The parameters of the list that the user is looking at."""
        return list_params.of_current_page(self.address(), self.columns, self.listing.several)

    def total(self, parameters: ListParams) -> int:
        """Number of rows that these parameters select. Raises Invalid."""
        return find_page(self.listing, workspace_id(), {**parameters, "page": "1"}).total

    def list_context(self, parameters: ListParams, fresh: Sequence[Any] = ()) -> Context:
        """Context of the list's template, with the `fresh` rows first."""
        context = list_params.list_context(
            parameters,
            fresh,
            listing=self.listing,
            controls=self.controls(),
            columns=self.columns,
            address=self.address,
        )
        return context | self.rows_context(context["page"].rows)

    def list_with(self, *fresh: Any) -> str:
        """The list that the user is looking at, with the `fresh` rows first, whatever its order."""
        context = self.list_context(self.asked_now(), fresh)
        return render_template(self.template("list"), family=self, **context)
