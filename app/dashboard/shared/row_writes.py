"""Writes of a row by a form, which is shown again where something is wrong or has to be asked first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from flask.typing import ResponseReturnValue

from app.core.database import begin_write, reread
from app.core.errors import AliasTaken, Conflict, Invalid, TooLarge, WaypostError
from app.core.extensions import db
from app.dashboard.auth.access import is_shown_again, submitted_form
from app.dashboard.shared import concurrent_edits
from app.dashboard.shared.cautions import Caution, asks_about
from app.dashboard.shared.concurrent_edits import EditedMeanwhile
from app.input.data import RequestData
from app.input.forms import ResourceForm
from app.web.errors import status_of

MOST_READS = 5  # of a form whose row is changed between reading and writing

Read = Callable[[RequestData | None, Any], ResourceForm]
Then = Callable[[Any], ResponseReturnValue]
Show = Callable[[ResourceForm, int], ResponseReturnValue]
FindCautions = Callable[[Any], Sequence[Caution]]


def no_cautions(_form: ResourceForm) -> Sequence[Caution]:
    return ()


def edit_row(
    find: Callable[[], Any],
    read: Read,
    save: Callable[[Any, dict[str, Any]], Any],
    then: Then,
    show: Show,
    cautions: FindCautions = no_cautions,
) -> ResponseReturnValue:
    """Change a row by the sent form, which is read again if the row is changed at the same moment.

    `read` makes the form of the sent fields (None: none yet) and the row. `save` changes the row, read anew.
    """

    def change() -> Any:
        row = find()
        reread(db.session, row)
        if read(None, row).edit.marks != form.edit.marks:
            raise EditedMeanwhile
        return save(row, form.changes)

    for _again in range(MOST_READS):
        form = read(submitted_form(), find())
        with suppress(EditedMeanwhile):
            return write_row(form, change, then, show, cautions)
    raise Conflict


def write_row(
    form: ResourceForm, act: Callable[[], Any], then: Then, show: Show, cautions: FindCautions = no_cautions
) -> ResponseReturnValue:
    """Call `act`, commit and answer by `then`; or `show` the form again, with sent values and errors."""
    if is_shown_again():  # a row was added to the form without JavaScript, or the session was over
        return show(form, 200)
    try:
        form.require_valid()
        if concurrent_edits.asks(form) or asks_about(form, cautions(form)):
            return show(form, 409)
        begin_write(db.session)
        result = act()
        db.session.commit()
    except EditedMeanwhile:
        db.session.rollback()
        raise
    except (Invalid, AliasTaken, TooLarge) as error:
        note(form, error)
        return show(form, status_of(error))
    return then(result)


def note(form: ResourceForm, error: WaypostError) -> None:
    """Roll back, and add the service's errors to the fields of the form."""
    db.session.rollback()
    for found in error.errors if not form.problems else ():
        known = found.field is not None and found.field in form
        form.reject(str(found.field if known else next(iter(form)).name), found.title, found.code)
