"""Bulk changes and deletions of links, with their progress.

The work is done in short requests: each works for about half a second, and its answer sends the next one with
what is left. So no other write waits long, and closing the page stops the work between two links.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask import Response, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import func, select

from app.core.actor import act_as, acting
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.dashboard.auth.access import signed_in_user, submitted_form
from app.dashboard.auth.reauthentication import FIELD, PERMIT, has_permit, permit, reauthenticated
from app.dashboard.links import choices as links_choices
from app.dashboard.links.filters import LISTING
from app.dashboard.links.link_cautions import bulk_cautions
from app.dashboard.links.rows import short_address
from app.dashboard.links.views import FAMILY
from app.dashboard.shared import list_params, rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.cautions import asks
from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.i18n.messages import ngettext
from app.input.data import RequestData
from app.input.listing import find_ids
from app.links import bulk_edit
from app.links.bulk_edit import BulkFailure, ManyForm
from app.links.models import Link
from app.web.body import parse_query

SECONDS = 0.5  # of work in one request
TOLD = 200  # failures that are shown with their reasons; the others are counted
KEEP = "keep"
DOINGS = {"on": {"is_enabled": True}, "off": {"is_enabled": False}}
WORDS = {"change": "changed", "on": "turned on", "off": "turned off", "delete": "deleted"}
CARRIED = {
    "do",
    "ids",
    "all",
    "query",
    "upto",
    "after",
    "done",
    "failed",
    "failed_id",
    "reason",
    "total",
    "batch",
}
BUTTONS = {"go", "stop", "csrf_token", PERMIT, FIELD}


@dataclass(frozen=True)
class BulkAction:
    """What to do with which links, and the progress. The page's form carries all of it."""

    do: str
    ids: Sequence[int] = ()
    is_all: bool = False
    query: str = ""
    upto: int = 0
    after: int = 0
    done: int = 0
    total: int = 0
    failures: Sequence[BulkFailure] = ()
    failed: int = 0
    batch: str = ""  # of the deleted links in the trash

    @property
    def list_params(self) -> dict[str, str]:
        return read_filters(self.query)

    def next_ids(self) -> Sequence[int]:
        if self.is_all:
            return find_ids(
                LISTING, signed_in_user().id, self.list_params, self.after, self.upto, bulk_edit.BATCH_SIZE
            )
        return [id_ for id_ in self.ids if id_ > self.after][: bulk_edit.BATCH_SIZE]


@blueprint.post("/links/many", endpoint="links_many")
def begin() -> ResponseReturnValue:
    """Ask what to change, or whether to delete. Turning links on or off needs no question."""
    work = chosen()
    if not work.total:
        raise Invalid(FieldError(_l("Select the links first."), "required"))
    if work.do in DOINGS:
        return carry_on(work, DOINGS[work.do])
    return ask(work, ManyForm(None, owner=signed_in_user(), zone=rendering.owner_zone()))


def ask(work: BulkAction, form: ManyForm, status: int = 200) -> Response:
    number = digits(work.total)
    some = ngettext("1 link", "%(number)s links", work.total, number=number)
    if work.do == "delete":
        heading = ngettext("Delete 1 link?", "Delete %(number)s links?", work.total, number=number)
    else:
        heading = ngettext("Change 1 link", "Change %(number)s links", work.total, number=number)
    beside = links_choices.beside_many() | {"cautions": bulk_cautions(form)} if work.do == "change" else {}
    return FAMILY.render_page(
        "many", status, work=work, some=some, form=form, heading=heading, asked=status == 409, **beside
    )


def is_new_deletion() -> bool:
    """Whether this starts a deletion. The next steps carry a permit and need no password."""
    return read_text(submitted_form(), "do") == "delete" and not has_permit()


def ask_again() -> ResponseReturnValue:
    return ask(read_work(), ManyForm(None, owner=signed_in_user(), zone=rendering.owner_zone()))


@blueprint.post("/links/many/go", endpoint="links_many_go")
@reauthenticated(ask_again, needs=is_new_deletion)
def go() -> ResponseReturnValue:
    work = read_work()
    form = ManyForm(kept(submitted_form()), owner=signed_in_user(), zone=rendering.owner_zone())
    if work.do == "change":
        try:
            form.require_valid()
        except Invalid:
            return ask(work, form, 422)
        if asks(bulk_cautions(form)):
            return ask(work, form, 409)
    return carry_on(work, DOINGS.get(work.do, form.changes))


def carry_on(work: BulkAction, params: Mapping[str, Any]) -> ResponseReturnValue:
    """Work for `SECONDS`, at least one transaction. Then render the page that goes on, or the result."""
    act_as(acting()._replace(way="many"))
    until = time.monotonic() + SECONDS
    ids = work.next_ids() if "stop" not in submitted_form() else ()
    while ids:
        work = step(work, ids, params)
        ids = work.next_ids()
        if time.monotonic() > until and ids:
            return going(work)
    return ended(work)


def step(work: BulkAction, ids: Sequence[int], params: Mapping[str, Any]) -> BulkAction:
    if work.do != "delete":
        return further(work, ids, bulk_edit.act_on(signed_in_user(), ids, bulk_edit.change(params)))
    batch, failures = bulk_edit.delete(signed_in_user(), ids, work.batch or None)
    return further(replace(work, batch=batch), ids, failures)


def further(work: BulkAction, ids: Sequence[int], failures: Sequence[BulkFailure]) -> BulkAction:
    return replace(
        work,
        after=ids[-1],
        done=work.done + len(ids) - len(failures),
        failed=work.failed + len(failures),
        failures=[*work.failures, *failures][:TOLD],
    )


def going(work: BulkAction) -> Response:
    heading = _("%(done)s of %(total)s", done=digits(work.done + work.failed), total=digits(work.total))
    fields = [(name, value) for name, _, value in kept(submitted_form()).pairs() if isinstance(value, str)]
    if work.do == "delete":
        fields.append((PERMIT, permit()))
    return FAMILY.render_page("going", work=work, heading=heading, fields=fields)


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
    return ngettext("1 link is changed.", "%(number)s links are changed.", work.done, number=number)


def ended(work: BulkAction) -> ResponseReturnValue:
    word = WORDS[work.do]
    if not work.failed and "stop" not in submitted_form():
        undo = url_for("dashboard.trash_undo", batch=work.batch) if work.batch else ""
        message = done_message(work)
        return FAMILY.gone(message, undo) if undo else FAMILY.done(message, FAMILY.list_with)
    links = bulk_edit.still_there(signed_in_user(), [failure.id for failure in work.failures])
    failures = [
        (short_address(links[one.id]) if one.id in links else f"#{one.id}", one.reason)
        for one in work.failures
    ]
    list_html = FAMILY.list_with() if rendering.is_fragment() else ""
    heading = _("%(done)s done, %(failed)s failed", done=digits(work.done), failed=digits(work.failed))
    return FAMILY.render_page(
        "done", work=work, heading=heading, failures=failures, list_html=list_html, word=word
    )


# ------------------------------------------------------------------ reading


def chosen() -> BulkAction:
    """What was selected in the list."""
    fields = submitted_form()
    do = read_text(fields, "do")
    if do not in WORDS:
        raise Invalid(FieldError(_l("Choose what to do with the links."), "choice"))
    if "all" not in fields:
        ids = sorted(set(numbers(fields, "ids")))
        return BulkAction(do, ids=ids, total=len(ids))
    upto = db.session.scalar(select(func.max(Link.id)).where(Link.user_id == signed_in_user().id)) or 0
    query = read_text(fields, "query")
    total = FAMILY.total(read_filters(query))
    return BulkAction(do, is_all=True, query=query, upto=upto, total=total)


def read_work() -> BulkAction:
    """The action and its progress, from the form of the later pages."""
    fields = submitted_form()
    do = read_text(fields, "do")
    if do not in WORDS:
        raise Invalid(FieldError(_l("Choose what to do with the links."), "choice"))
    ids, reasons = numbers(fields, "failed_id"), [str(value) for value in fields.getlist("reason")]
    whole = {name: number(fields, name) for name in ("upto", "after", "done", "total", "failed")}
    return BulkAction(
        do,
        ids=sorted(numbers(fields, "ids")),
        is_all="all" in fields,
        query=read_text(fields, "query"),
        batch=read_text(fields, "batch"),
        failures=[BulkFailure(*pair) for pair in zip(ids, reasons, strict=False)],
        **whole,
    )


def read_filters(query: str) -> dict[str, str]:
    """The filters of the list that was shown. Raises Malformed, Invalid."""
    return list_params.of_pairs(parse_query(query.encode()), several=LISTING.several)


def read_text(fields: RequestData, name: str) -> str:
    value = fields.last(name) if name in fields else ""
    return value if isinstance(value, str) else ""


def numbers(fields: RequestData, name: str) -> list[int]:
    """Ids from repeated fields, or separated by commas in one field."""
    words = [word for value in fields.getlist(name) for word in str(value).split(",")]
    return [int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 19]


def number(fields: RequestData, name: str) -> int:
    return next(iter(numbers(fields, name)), 0)


def kept(fields: RequestData) -> RequestData:
    """The fields as ManyForm reads them: without those to be left as they are, and with one tag a line."""
    found: list[tuple[str, Any]] = []
    for name, _file, value in fields.pairs():
        if name in CARRIED | BUTTONS or value == KEEP:
            continue
        lines = str(value).splitlines() if name.endswith("_tags") else [value]
        found += [(name, line) for line in lines if line != "" or not name.startswith(("add_", "remove_"))]
    return RequestData(found)
