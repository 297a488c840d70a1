"""Pages of one kind of row: list, create, edit and delete.

Every page works in two ways. htmx gets fragments: a form for the dialog, afterwards the row for the list.
A browser without JavaScript gets whole pages, and is redirected to the list with a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeVar

from flask import Response, current_app, render_template, request, url_for
from flask.typing import ResponseReturnValue

from app.accounts.access import Access
from app.accounts.ownership import get_owned
from app.core.database import begin_write
from app.core.extensions import db
from app.dashboard.auth.access import submitted_form
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.shared import concurrent_edits, list_params, rendering, row_writes
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.cautions import Caution
from app.dashboard.shared.list_params import Control
from app.dashboard.shared.workspace import current_access, workspace_id
from app.i18n.messages import gettext as _
from app.input.data import RequestData
from app.input.forms import ResourceForm
from app.input.listing import Listing, find_page
from app.input.params import Several

Context = dict[str, Any]
View = Callable[..., ResponseReturnValue]
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
    none_found: str
    show_all: str


@dataclass(frozen=True, kw_only=True)
class CrudViews:
    """The pages of one kind of row, with what is specific to it.

    `services` is the module with `create`, `update` and `delete`. `beside_form` and `beside_rows` are what
    the templates of a form and of rows need besides. `typed` turns what the page's controls send into
    what the form reads.
    """

    rules: ClassVar[dict[str, str]] = {}  # the path of each page
    name: str  # of the folder of templates, and in endpoints
    title: str
    intro: str
    search_hint: str
    words: FamilyWords
    loss: str  # the words that say what deleting one means
    is_kept: bool = False  # whether a deleted one goes to the trash
    model: type[Any]
    form: type[ResourceForm]
    services: Any
    listing: Listing[Any]
    title_of: Callable[[Any], str]
    controls: Callable[[Access], list[Control]] = field(default=lambda access: [])  # noqa: ARG005
    beside_form: Callable[[ResourceForm], Context] = field(default=lambda form: {})  # noqa: ARG005
    beside_rows: Callable[[Sequence[Any]], Context] = field(default=lambda rows: {})  # noqa: ARG005
    typed: Callable[[RequestData], RequestData] = field(default=lambda fields: fields)
    warning: Callable[[Sequence[Any]], str | None] = field(default=lambda rows: None)  # noqa: ARG005  after saving
    cautions: Callable[[Any], Sequence[Caution]] = field(default=lambda form: ())  # noqa: ARG005  before saving
    new: Mapping[str, Any] = field(default_factory=dict)  # initial values of a new one
    columns: Mapping[str, str] = field(default_factory=dict)  # those to show or hide, with their words

    def __post_init__(self) -> None:
        """Adds the pages to the blueprint, each at the path of its `crud_route`."""
        pages: dict[str, tuple[View, View | None]] = {
            "list": (self.show_list, None),
            "new": (self.ask_new, self.create),
            "edit": (self.ask_edit, self.update),
            "delete": (self.ask_delete, reauthenticated(self.ask_delete)(self.delete)),
        }
        for page, rule in self.rules.items():
            ask, write = pages[page]
            name = self.endpoint("" if page == "list" else page)
            blueprint.add_url_rule(rule, name, ask)
            if write:
                blueprint.add_url_rule(rule, f"{name}_write", write, methods=["POST"])

    def endpoint(self, page: str = "") -> str:
        return f"{self.name}_{page}" if page else self.name

    def address(self, page: str = "", id: int | None = None, /, **query: str) -> str:
        values: dict[str, Any] = query if id is None else {**query, "id": id}
        several = {name: list(value.values) for name, value in query.items() if isinstance(value, Several)}
        return url_for(f"dashboard.{self.endpoint(page)}", **{**values, **several})

    def show_list(self) -> Response:
        """The rows that the parameters select; newest first unless they say otherwise."""
        parameters = list_params.of_request(self.columns, self.listing.several)
        context = self.list_context(parameters)
        response = self.render_page("list", 422 if context["wrong"] else 200, **context)
        if rendering.is_fragment():  # without the empty controls
            response.headers["HX-Push-Url"] = self.address(**parameters)
        return response

    def ask_new(self) -> Response:
        return self.form_page(self.read_form(None, None))

    def ask_edit(self, id: int) -> Response:
        return self.form_page(self.read_form(None, get_owned(current_access(), self.model, id)))

    def ask_delete(self, id: int) -> Response:
        row = get_owned(current_access(), self.model, id)
        return self.render_page("delete", row=row, title=self.title_of(row), heading=self.words.ask_delete)

    def create(self) -> ResponseReturnValue:
        form = self.read_form(submitted_form(), None)
        return self.write(form, lambda: self.services.create(current_access(), form.changes), self.created)

    def created(self, row: Any) -> ResponseReturnValue:
        message = _("%(name)s is created.", name=self.title_of(row))
        return self.done(message, partial(self.list_with, row), warning=self.warning([row]))

    def update(self, id: int) -> ResponseReturnValue:
        return self.edit(id, self.updated)

    def updated(self, row: Any, message: str = "") -> ResponseReturnValue:
        message = message or _("%(name)s is saved.", name=self.title_of(row))
        warning = self.warning([row])
        return self.done(message, partial(self.row, row), f"#row-{row.id}", "outerHTML", warning)

    def delete(self, id: int) -> ResponseReturnValue:
        begin_write(db.session)
        row = get_owned(current_access(), self.model, id)
        message = _("%(name)s is deleted.", name=self.title_of(row))
        batch = self.services.delete(row)
        db.session.commit()
        undo = url_for("dashboard.trash_undo", batch=batch) if batch else ""
        return self.gone(message, undo)

    def gone(self, message: str, undo: str) -> ResponseReturnValue:
        """Answer a deletion. `undo` is the address that restores the rows, "" where none can."""
        if not rendering.is_fragment():
            return rendering.redirect_with(message, self.address(), undo=undo)
        return rendering.swap_part(message, self.list_with(), "#results", "innerHTML", undo=undo)

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

    def read_form(self, fields: RequestData | None, stored: Any, like: Any = None) -> ResourceForm:
        """The form with the sent fields (None: none yet). A new row starts with the values of `like`."""
        make = self.form_maker(stored, like)
        typed = None if fields is None else self.typed(fields)
        return make(typed) if stored is None else concurrent_edits.read_edit(make, typed)

    def form_maker(self, stored: Any, like: Any = None) -> Callable[[RequestData | None], ResourceForm]:
        """What makes the form of sent fields, by the rules for this user on this host."""
        return partial(
            self.form,
            owner=current_access(),
            stored=stored,
            like=like,
            data=self.new if stored is None and like is None else {},
            zone=rendering.owner_zone(),
            settings=current_app.config["WAYPOST"],
            host=request.host,
        )

    def edit(
        self,
        id: int,
        then: Callable[[Any], ResponseReturnValue],
        show: Callable[[ResourceForm, int], Response] | None = None,
    ) -> ResponseReturnValue:
        """Change a row by the sent form, which `show` shows again with what is wrong or to be asked."""
        find = partial(get_owned, current_access(), self.model, id)
        save, show = self.services.update, show or self.form_page
        return row_writes.edit_row(find, self.read_form, save, then, show, self.cautions)

    def write(
        self,
        form: ResourceForm,
        act: Callable[[], Any],
        then: Callable[[Any], ResponseReturnValue],
        show: Callable[[ResourceForm, int], Response] | None = None,
    ) -> ResponseReturnValue:
        return row_writes.write_row(form, act, then, show or self.form_page, self.cautions)

    def render_page(self, name: str, status: int = 200, **context: Any) -> Response:
        fragment = self.template(name)
        whole = "dashboard/list.html" if name == "list" else "dashboard/form.html"
        context = {"family": self, "here": self.name} | context
        return rendering.render_page(whole, fragment, status=status, **context)

    def template(self, name: str) -> str:
        return (
            f"dashboard/_{name}.html" if name in {"list", "delete"} else f"dashboard/{self.name}/_{name}.html"
        )

    def form_page(
        self, form: ResourceForm, status: int = 200, name: str = "form", heading: str = ""
    ) -> Response:
        heading = heading or (self.words.edit if form.stored is not None else self.words.create)
        beside = {"cautions": self.cautions(form), "asked": form.is_asked, **self.beside_form(form)}
        return self.render_page(name, status, form=form, row=form.stored, heading=heading, **beside)

    def row(self, row: Any) -> str:
        shown = list_params.columns_of(self.asked_now(), self.columns)
        beside = {"zone": rendering.owner_zone(), "shown": shown} | self.beside_rows([row])
        return render_template(self.template("row"), family=self, row=row, fresh=[row.id], **beside)

    def asked_now(self) -> list_params.ListParams:
        """The parameters of the list that the user is looking at."""
        return list_params.of_current_page(self.address(), self.columns, self.listing.several)

    def total(self, parameters: list_params.ListParams) -> int:
        """Number of rows that these parameters select. Raises Invalid."""
        return find_page(self.listing, workspace_id(), {**parameters, "page": "1"}).total

    def list_context(self, parameters: list_params.ListParams, fresh: Sequence[Any] = ()) -> Context:
        """Context of the list's template, with the `fresh` rows first."""
        context = list_params.list_context(
            parameters,
            fresh,
            listing=self.listing,
            controls=self.controls(current_access()),
            columns=self.columns,
            address=self.address,
        )
        return context | self.beside_rows(context["page"].rows)

    def list_with(self, *fresh: Any) -> str:
        """The list that the user is looking at, with the `fresh` rows first, whatever its order."""
        context = self.list_context(self.asked_now(), fresh)
        return render_template(self.template("list"), family=self, **context)
