"""How do the pages of one kind of row work: its list, and creating, editing and deleting in place?

Every page works in two ways. htmx gets fragments: a form into the dialog, afterwards the row into the
list. A browser without JavaScript gets whole pages, and is sent back to the list with a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from flask import Blueprint, Response, current_app, render_template, request, url_for
from flask.typing import ResponseReturnValue

from app.accounts.models import User
from app.dashboard import asked, pages
from app.dashboard.asked import Control
from app.dashboard.guard import sent, user
from app.dashboard.reauthentication import reauthenticated
from app.dashboard.touched import touched
from app.database import begin_write
from app.errors import AliasTaken, Invalid, TooLarge, WaypostError
from app.extensions import db
from app.failures import status_of
from app.forms import ResourceForm
from app.lists import Listing, find_page
from app.ownership import get_owned
from app.sent import Sent

Context = dict[str, Any]
View = Callable[..., ResponseReturnValue]


@dataclass(frozen=True, kw_only=True)
class Family:
    """One kind of row and what is its own; everything else is the same for all.

    `services` is the module with `create`, `update` and `delete`. `beside_form` and `beside_rows` are what
    the templates of a form and of rows need besides, `typed` turns what the page's controls send into
    what the form reads.
    """

    name: str  # of its folder of templates, and in its addresses
    one: str
    many: str
    title: str
    intro: str
    search_hint: str
    loss: str  # what deleting one means
    is_kept: bool = False  # in the trash, once it is deleted
    model: type[Any]
    form: type[ResourceForm]
    services: Any
    listing: Listing[Any]
    title_of: Callable[[Any], str]
    controls: Callable[[User], list[Control]] = field(default=lambda user: [])  # noqa: ARG005
    beside_form: Callable[[ResourceForm], Context] = field(default=lambda form: {})  # noqa: ARG005
    beside_rows: Callable[[Sequence[Any]], Context] = field(default=lambda rows: {})  # noqa: ARG005
    typed: Callable[[Sent], Sent] = field(default=lambda fields: fields)
    warning: Callable[[Sequence[Any]], str | None] = field(default=lambda rows: None)  # noqa: ARG005  once saved
    new: Mapping[str, Any] = field(default_factory=dict)  # what the controls of a new one show
    columns: Mapping[str, str] = field(
        default_factory=dict
    )  # what a row can show or leave out, with its word

    def register(self, blueprint: Blueprint) -> None:
        blueprint.add_url_rule(f"/{self.name}/", self.name, self.show_list)
        self.add(blueprint, "new", "/new", self.ask_new, self.create)
        self.add(blueprint, "edit", "/<int:id>", self.ask_edit, self.update)
        delete = reauthenticated(self.delete, self.ask_delete)
        self.add(blueprint, "delete", "/<int:id>/delete", self.ask_delete, delete)

    def add(self, blueprint: Blueprint, page: str, rule: str, ask: View, write: View) -> None:
        """One page: asked for with GET, sent with POST."""
        rule, name = f"/{self.name}{rule}", self.endpoint(page)
        blueprint.add_url_rule(rule, name, ask)
        blueprint.add_url_rule(rule, f"{name}_write", write, methods=["POST"])

    def endpoint(self, page: str = "") -> str:
        return f"{self.name}_{page}" if page else self.name

    def address(self, page: str = "", id: int | None = None, /, **query: str) -> str:
        values: dict[str, Any] = query if id is None else {**query, "id": id}
        return url_for(f"dashboard.{self.endpoint(page)}", **values)

    def show_list(self) -> Response:
        """The rows that the address asks for; newest first unless it says otherwise."""
        parameters = asked.of_request(self.columns)
        context = asked.answer(self, parameters)
        response = self.page("list", 422 if context["wrong"] else 200, **context)
        if pages.is_fragment():  # without the controls that say nothing
            response.headers["HX-Push-Url"] = self.address(**parameters)
        return response

    def ask_new(self) -> Response:
        return self.form_page(self.read_form(None, None))

    def ask_edit(self, id: int) -> Response:
        return self.form_page(self.read_form(None, get_owned(user(), self.model, id)))

    def ask_delete(self, id: int) -> Response:
        row = get_owned(user(), self.model, id)
        return self.page("delete", row=row, title=self.title_of(row), heading=f"Delete this {self.one}?")

    def create(self) -> ResponseReturnValue:
        form = self.read_form(sent(), None)
        return self.write(form, lambda: self.services.create(user(), form.changes), self.created)

    def created(self, row: Any) -> ResponseReturnValue:
        message = f"{self.title_of(row)} is created."
        return self.done(message, partial(self.list_with, row), warning=self.warning([row]))

    def update(self, id: int) -> ResponseReturnValue:
        form = self.read_form(sent(), get_owned(user(), self.model, id))
        change = lambda: self.services.update(get_owned(user(), self.model, id), form.changes)  # noqa: E731
        return self.write(form, change, self.updated)

    def updated(self, row: Any, message: str = "") -> ResponseReturnValue:
        message = message or f"{self.title_of(row)} is saved."
        warning = self.warning([row])
        return self.done(message, partial(self.row, row), f"#row-{row.id}", "outerHTML", warning)

    def delete(self, id: int) -> ResponseReturnValue:
        begin_write(db.session)
        row = get_owned(user(), self.model, id)
        message = f"{self.title_of(row)} is deleted."
        batch = self.services.delete(row)
        db.session.commit()
        undo = url_for("dashboard.trash_undo", batch=batch) if batch else ""
        return self.gone(message, undo)

    def gone(self, message: str, undo: str) -> ResponseReturnValue:
        """Deleted; `undo` is where that is taken back, empty where it can't be."""
        if not pages.is_fragment():
            return pages.sent_on(message, self.address(), undo=undo)
        return pages.swapped(message, self.list_with(), "#results", "innerHTML", undo=undo)

    def done(
        self,
        message: str,
        part: Callable[[], str],
        target: str = "#results",
        swap: str = "innerHTML",
        warning: str | None = None,
        copy: str | None = None,
    ) -> ResponseReturnValue:
        if not pages.is_fragment():
            return pages.sent_on(message, self.address(), warning)
        return pages.swapped(message, part(), target, swap, warning, copy=copy)

    def read_form(self, fields: Sent | None, stored: Any, like: Any = None) -> ResourceForm:
        """The form of what was sent, or with nothing sent yet; a new row's begins as `like`."""
        make = partial(
            self.form,
            owner=user(),
            stored=stored,
            like=like,
            data=self.new if stored is None and like is None else {},
            zone=pages.zone(),
            settings=current_app.config["WAYPOST"],
            host=request.host,
        )
        typed = None if fields is None else self.typed(fields)
        return make(typed if typed is None or stored is None else touched(typed, make(None)))

    def write(
        self,
        form: ResourceForm,
        act: Callable[[], Any],
        then: Callable[[Any], ResponseReturnValue],
        show: Callable[[ResourceForm, int], Response] | None = None,
    ) -> ResponseReturnValue:
        """Act and go on; or `show` the form once more, with what was typed and what is wrong with it."""
        show = show or self.form_page
        if "again" in sent():  # one more row, asked for without JavaScript
            return show(form, 200)
        try:
            form.require_valid()
            begin_write(db.session)
            result = act()
            db.session.commit()
        except (Invalid, AliasTaken, TooLarge) as error:
            note(form, error)
            return show(form, status_of(error))
        return then(result)

    def page(self, name: str, status: int = 200, **context: Any) -> Response:
        fragment = self.template(name)
        whole = "dashboard/list.html" if name == "list" else "dashboard/form.html"
        context = {"family": self, "here": self.name} | context
        return pages.page(whole, fragment, status=status, **context)

    def template(self, name: str) -> str:
        return (
            f"dashboard/_{name}.html" if name in {"list", "delete"} else f"dashboard/{self.name}/_{name}.html"
        )

    def form_page(
        self, form: ResourceForm, status: int = 200, name: str = "form", heading: str = ""
    ) -> Response:
        heading = heading or (f"Edit {self.one}" if form.stored is not None else f"Create {self.one}")
        beside = {"form": form, "row": form.stored, "heading": heading}
        return self.page(name, status, **(beside | self.beside_form(form)))

    def row(self, row: Any) -> str:
        shown = asked.columns_of(self.asked_now(), self.columns)
        beside = {"zone": pages.zone(), "shown": shown} | self.beside_rows([row])
        return render_template(self.template("row"), family=self, row=row, fresh=[row.id], **beside)

    def asked_now(self) -> asked.Asked:
        """What the list shows that the person is looking at."""
        return asked.of_current_page(self.address(), self.columns)

    def total(self, parameters: asked.Asked) -> int:
        """How many rows these parameters ask for. Raises Invalid."""
        return find_page(self.listing, user().id, {**parameters, "page": "1"}).total

    def list_with(self, *fresh: Any) -> str:
        """The list that the person is looking at, with the new rows on top wherever they belong."""
        context = asked.answer(self, self.asked_now(), fresh)
        return render_template(self.template("list"), family=self, **context)


def note(form: ResourceForm, error: WaypostError) -> None:
    """Undo what was begun, and put what only the service could know beside its field."""
    db.session.rollback()
    for found in error.errors if not form.problems else ():
        known = found.field is not None and found.field in form
        form.reject(str(found.field if known else next(iter(form)).name), found.title, found.code)
