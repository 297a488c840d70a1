"""Bulk changes and deletions of links, with their progress, and undo of a bulk change as one.

The work is done in short requests: each works for about half a second, and its answer sends the next one with
what is left. So no other write waits long, and closing the page stops the work between two links.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from flask import Response, flash, make_response, url_for
from flask.typing import ResponseReturnValue

from app.core.actor import act_as, acting
from app.core.errors import FieldError, Invalid, NotFound
from app.dashboard.auth.access import submitted_form
from app.dashboard.auth.reauthentication import PERMIT, has_permit, permit, reauthenticated
from app.dashboard.links import bulk_preview
from app.dashboard.links import choices as links_choices
from app.dashboard.links.bulk_preview import (
    BATCH,
    DOINGS,
    BulkAction,
    asked_fields,
    carried_fields,
    chosen,
    read_form,
    read_work,
)
from app.dashboard.links.link_cautions import bulk_cautions
from app.dashboard.links.rows import short_address
from app.dashboard.links.views import FAMILY
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.form_views import asks
from app.dashboard.shared.workspace import current_access, workspace_id
from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.i18n.messages import ngettext
from app.links import bulk_edit
from app.links.bulk_forms import ManyForm
from app.trash.services import new_batch

SECONDS = 0.5  # of work in one request


@blueprint.post("/links/many", endpoint="links_many")
def begin() -> ResponseReturnValue:
    """Ask what to change, or whether to delete. Turning links on or off needs no question."""
    work = chosen()
    if not work.total:
        raise Invalid(FieldError(_l("Select the links first."), "required"))
    if work.do in DOINGS:
        return carry_on(work, DOINGS[work.do])
    return ask(work, read_form(None))


def ask(work: BulkAction, form: ManyForm, status: int = 200) -> Response:
    number = digits(work.total)
    some = ngettext("1 link", "%(number)s links", work.total, number=number)
    if work.do == "delete":
        heading = ngettext("Delete 1 link?", "Delete %(number)s links?", work.total, number=number)
    elif work.do == "replace":
        heading = ngettext(
            "Find and replace in 1 link", "Find and replace in %(number)s links", work.total, number=number
        )
    else:
        heading = ngettext("Change 1 link", "Change %(number)s links", work.total, number=number)
    beside = links_choices.beside_many() | {"cautions": bulk_cautions(form)} if work.do == "change" else {}
    name = "replace" if work.do == "replace" else "many"
    return FAMILY.render_page(
        name, status, work=work, some=some, form=form, heading=heading, asked=status == 409, **beside
    )


def is_new_deletion() -> bool:
    """Whether this starts a deletion. The next steps carry a permit and need no password."""
    return submitted_form().text("do") == "delete" and not has_permit()


def ask_again() -> ResponseReturnValue:
    return ask(read_work(), read_form(None))


@blueprint.post("/links/many/go", endpoint="links_many_go")
@reauthenticated(ask_again, needs=is_new_deletion)
def go() -> ResponseReturnValue:
    work, fields = read_work(), submitted_form()
    form = read_form(asked_fields(fields))
    if work.do in {"change", "replace"}:
        if "revise" in fields or "again" in fields:
            return ask(work, form)
        try:
            form.require_valid()
        except Invalid:
            return ask(work, form, 422)
        if work.do == "change" and asks(bulk_cautions(form)):
            return ask(work, form, 409)
        if "apply" not in fields and ("preview" in fields or form.must_be_previewed):
            return bulk_preview.show(work, form)
    return carry_on(work, DOINGS.get(work.do, form.changes))


@blueprint.post("/links/many/undo/<batch>", endpoint="links_many_undo")
def undo(batch: str) -> ResponseReturnValue:
    """Give all links of a bulk change back what it replaced. What was changed since stays as it is."""
    total = bulk_edit.count_links(workspace_id(), [batch]).get(batch) if BATCH.fullmatch(batch) else 0
    if not total:
        raise NotFound("change")
    return carry_on(BulkAction("undo", undoes=batch, total=total), {})


def carry_on(work: BulkAction, params: Mapping[str, Any]) -> ResponseReturnValue:
    """Work for `SECONDS`, at least one transaction. Then render the page that goes on, or the result."""
    work = replace(work, batch=work.batch or new_batch())
    act_as(acting()._replace(way="many", batch=work.batch))
    until = time.monotonic() + SECONDS
    ids = work.next_ids() if "stop" not in submitted_form() else ()
    while ids:
        work = step(work, ids, params)
        ids = work.next_ids()
        if time.monotonic() > until and ids:
            return going(work)
    return ended(work)


def step(work: BulkAction, ids: Sequence[int], params: Mapping[str, Any]) -> BulkAction:
    if work.do == "delete":
        return work.further(ids, bulk_edit.delete(current_access(), ids, work.batch)[1])
    if work.do == "undo":
        return work.further(ids, bulk_edit.act_on(current_access(), ids, bulk_edit.undo(work.undoes)))
    change = bulk_edit.BulkChange(params, work.seen)
    failures = bulk_edit.act_on(current_access(), ids, change)
    return work.further(ids, failures, change.untouched)


def going(work: BulkAction) -> Response:
    heading = _("%(done)s of %(total)s", done=digits(work.done + work.failed), total=digits(work.total))
    fields = [*carried_fields(), ("apply", "1")]
    if work.do == "delete":
        fields.append((PERMIT, permit()))
    return FAMILY.render_page(
        "going", work=work, heading=heading, fields=fields, value=work.done + work.failed
    )


def done_message(work: BulkAction) -> str:
    number = digits(work.done)
    match work.do:
        case "on":
            return ngettext(
                "1 link is turned on.", "%(number)s links are turned on.", work.done, number=number
            )
        case "off":
            return ngettext(
                "1 link is turned off.", "%(number)s links are turned off.", work.done, number=number
            )
        case "delete":
            return ngettext("1 link is deleted.", "%(number)s links are deleted.", work.done, number=number)
        case "undo":
            return ngettext(
                "1 link is as it was.", "%(number)s links are as they were.", work.done, number=number
            )
    return changed_message(work)


def changed_message(work: BulkAction) -> str:
    """How many links are changed, and how many were so already."""
    count, same = work.done - work.untouched, work.untouched
    changed = ngettext("1 link is changed.", "%(number)s links are changed.", count, number=digits(count))
    if not same:
        return changed
    untouched = ngettext("1 needed no change.", "%(number)s needed no change.", same, number=digits(same))
    return f"{changed} {untouched}" if count else untouched


def undo_address(work: BulkAction) -> str:
    """The address that takes the whole work back; "" where there is nothing to take back."""
    if work.do == "delete":
        return url_for("dashboard.trash_undo", batch=work.batch) if work.done else ""
    is_undoable = work.do != "undo" and work.done > work.untouched
    return url_for("dashboard.links_many_undo", batch=work.batch) if is_undoable else ""


def ended(work: BulkAction) -> ResponseReturnValue:
    if not work.failed and "stop" not in submitted_form():
        return shown_again(done_message(work), undo_address(work))
    links = bulk_edit.still_there(current_access(), [failure.id for failure in work.failures])
    failures = [
        (short_address(links[one.id]) if one.id in links else f"#{one.id}", one.reason)
        for one in work.failures
    ]
    list_html = FAMILY.list_with() if rendering.is_fragment() and is_at_list() else ""
    heading = _("%(done)s done, %(failed)s failed", done=digits(work.done), failed=digits(work.failed))
    return FAMILY.render_page(
        "done",
        work=work,
        heading=heading,
        failures=failures,
        list_html=list_html,
        undo=undo_address(work),
    )


def is_at_list() -> bool:
    """Whether htmx was used on the list. Requests without a word of their page count as from there."""
    return not rendering.current_address().path or rendering.is_at(FAMILY.address())


def shown_again(message: str, undo: str) -> ResponseReturnValue:
    """The list with the message. Any other page, as a link's history, is reloaded with it."""
    if rendering.is_fragment() and not is_at_list():
        flash(message, undo or "message")
        return make_response("", 200, {"HX-Refresh": "true"})
    return FAMILY.gone(message, undo) if undo else FAMILY.done(message, FAMILY.list_with)
