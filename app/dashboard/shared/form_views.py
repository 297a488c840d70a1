"""Forms that create or change a row, and what they say before they save something that surprises.

A caution is asked about once. It has a token, and a form that was sent with the token was seen with the
caution: it is saved. With JavaScript the caution stands in the form while it is filled in; without, the
answer has it.
"""

# see docs/decisions/2026-11-24-asked-once.md
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from flask import request
from flask.typing import ResponseReturnValue

from app.accounts.access import get_owned
from app.core.database import begin_write, reread
from app.core.errors import AliasTaken, Conflict, Invalid, TooLarge, WaypostError
from app.core.extensions import db
from app.dashboard.auth.access import is_shown_again, submitted_form
from app.dashboard.shared import concurrent_edits
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import current_access
from app.input.data import RequestData
from app.input.forms import ResourceForm
from app.web.errors import status_of

AGREED = "agreed"
MOST_READS = 5  # of a form whose row is changed between reading and writing
View = Callable[..., ResponseReturnValue]
REFUSALS = (Invalid, AliasTaken, TooLarge)


class Caution(NamedTuple):
    """What is said at a field. `agree`: the words of the box to tick; "": to save again is enough."""

    token: str
    field: str
    lines: Sequence[str]
    agree: str = ""

    @property
    def is_agreed(self) -> bool:
        return self.token in agreed()


def agreed() -> frozenset[str]:
    """The tokens that came with the form."""
    values = submitted_form().getlist(AGREED) if request.method == "POST" else ()
    return frozenset(value for value in values if isinstance(value, str))


def asks(cautions: Sequence[Caution]) -> bool:
    """Whether the page must ask before anything is written."""
    return any(not one.is_agreed for one in cautions)


def add_form(rule: str, endpoint: str, ask: View, write: View) -> None:
    """Add the page of a form to the blueprint, and at the same address what its form is sent to."""
    blueprint.add_url_rule(rule, endpoint, ask)
    blueprint.add_url_rule(rule, f"{endpoint}_write", write, methods=["POST"])


class FormView(ABC):
    """The form of a row, which is shown again where something is wrong or has to be asked first.

    `services` is the module with `create` and `update`.
    """

    model: type[Any]
    services: Any

    @abstractmethod
    def make_form(self, fields: RequestData | None, stored: Any) -> ResourceForm:
        """The form of what was sent (None: nothing yet) for a stored row, or for a new one."""

    @abstractmethod
    def form_page(self, form: ResourceForm, status: int = 200) -> ResponseReturnValue:
        """The page or the fragment with the form."""

    def created(self, row: Any) -> ResponseReturnValue:
        """Answer when a row is created."""
        raise NotImplementedError

    @abstractmethod
    def updated(self, row: Any) -> ResponseReturnValue:
        """Answer when a row is changed."""

    def get_row(self, id: int) -> Any:
        return get_owned(current_access(), self.model, id)

    def typed(self, fields: RequestData) -> RequestData:
        """What the controls of the page send, as the form reads it."""
        return fields

    def cautions(self, form: Any) -> Sequence[Caution]:  # noqa: ARG002  for subclasses
        return ()

    def save_new(self, form: ResourceForm) -> Any:
        return self.services.create(current_access(), form.changes)

    def save(self, row: Any, changes: dict[str, Any]) -> Any:
        return self.services.update(row, changes)

    def read_form(self, fields: RequestData | None, stored: Any) -> ResourceForm:
        """The form with the sent fields (None: none yet), and with what was changed elsewhere meanwhile."""
        typed = None if fields is None else self.typed(fields)
        if stored is None:
            return self.make_form(typed, None)
        return concurrent_edits.read_edit(partial(self.make_form, stored=stored), typed)

    def ask_new(self) -> ResponseReturnValue:
        return self.form_page(self.read_form(None, None))

    def ask_edit(self, id: int) -> ResponseReturnValue:
        return self.form_page(self.read_form(None, self.get_row(id)))

    def create(self) -> ResponseReturnValue:
        form = self.read_form(submitted_form(), None)
        try:
            if asked := self.ask_first(form):
                return asked
            begin_write(db.session)
            row = self.save_new(form)
            db.session.commit()
        except REFUSALS as error:
            return self.refuse(form, error)
        return self.created(row)

    def update(self, id: int) -> ResponseReturnValue:
        """Change a row. The form is read again if the row is changed at the same moment."""
        for _again in range(MOST_READS):
            form = self.read_form(submitted_form(), self.get_row(id))
            try:
                if asked := self.ask_first(form):
                    return asked
                begin_write(db.session)
                row = self.get_row(id)
                reread(db.session, row)
                if self.read_form(None, row).edit.marks != form.edit.marks:
                    db.session.rollback()
                    continue
                row = self.save(row, form.changes)
                db.session.commit()
            except REFUSALS as error:
                return self.refuse(form, error)
            return self.updated(row)
        raise Conflict

    def ask_first(self, form: ResourceForm) -> ResponseReturnValue | None:
        """The form again where nothing is saved yet; None where it can be. Raises Invalid."""
        if is_shown_again():  # a row was added to the form without JavaScript, or the session was over
            return self.form_page(form)
        form.require_valid()
        if concurrent_edits.asks(form):
            return self.form_page(form, 409)
        form.is_asked = asks(self.cautions(form))
        return self.form_page(form, 409) if form.is_asked else None

    def refuse(self, form: ResourceForm, error: WaypostError) -> ResponseReturnValue:
        note(form, error)
        return self.form_page(form, status_of(error))


def note(form: ResourceForm, error: WaypostError) -> None:
    """Roll back, and add the service's errors to the fields of the form."""
    db.session.rollback()
    for found in error.errors if not form.problems else ():
        known = found.field is not None and found.field in form
        form.reject(str(found.field if known else next(iter(form)).name), found.title, found.code)
