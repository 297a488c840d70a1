"""What to do with many links, and how far it is. The pages' forms carry all of it from request to request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask import current_app, request
from sqlalchemy import func, select

from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.dashboard.auth.access import submitted_form
from app.dashboard.auth.reauthentication import FIELD, PERMIT
from app.dashboard.links.filters import LISTING
from app.dashboard.links.views import FAMILY
from app.dashboard.shared import form_input, list_params, rendering
from app.dashboard.shared.workspace import current_access, workspace_id
from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData, Value
from app.input.listing import find_ids
from app.links import bulk_edit
from app.links.bulk_edit import BulkFailure
from app.links.bulk_forms import ManyForm
from app.links.models import Link
from app.web.body import parse_query

TOLD = 200  # failures that are shown with their reasons; the others are counted
KEEP = "keep"
KEPT = {"is_enabled", "project_id", "schedule"}  # controls in which it means: as it is
DOINGS = {"on": {"is_enabled": True}, "off": {"is_enabled": False}}
WORDS = {"change", "replace", "on", "off", "delete", "undo"}
WHOLE = ("upto", "after", "done", "total", "failed", "untouched", "seen")
COUNTS = ("scanned", "changing", "same", "wrong", "losing")
CARRIED = {"do", "ids", "all", "query", "failed_id", "reason", "batch", "undoes", *WHOLE, *COUNTS}
BUTTONS = {"go", "stop", "csrf_token", PERMIT, FIELD}
PREVIEW_BUTTONS = {"preview", "apply", "revise", "again", "only", "shown_after"}
BATCH = re.compile(r"[0-9a-f]{32}", re.ASCII)
# an address has no white space: what was pasted with it around would find nothing
STRIPPED = {"find", "replace"}
READ_AS_LINKS = ("targeting_", "expiration_url")


@dataclass(frozen=True)
class PreviewCounts:
    """How many links a preview has looked at, and what would become of them. `scanned`: the last one's id."""

    scanned: int = 0
    changing: int = 0
    same: int = 0
    wrong: int = 0
    losing: int = 0  # another targeting type


@dataclass(frozen=True)
class BulkAction:
    """What to do with which links, and the progress.

    `seen`: the id of the next change of any link when the preview began, 0 without one. `batch`: of the
    deleted links in the trash, or of the changes that are undone as one. `undoes`: the batch that an undo
    takes back.
    """

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
    untouched: int = 0
    batch: str = ""
    undoes: str = ""
    seen: int = 0
    counts: PreviewCounts = PreviewCounts()

    @property
    def list_params(self) -> dict[str, str]:
        return read_filters(self.query)

    def next_ids(self, after: int | None = None, most: int = 0) -> Sequence[int]:
        """The ids of the next links, rising: after those that are done, unless `after` says otherwise."""
        after, most = self.after if after is None else after, most or bulk_edit.BATCH_SIZE
        mine = workspace_id()
        if self.do == "undo":
            return bulk_edit.find_undoable(mine, self.undoes, after, most)
        if self.is_all:
            return find_ids(LISTING, mine, self.list_params, after, self.upto, most)
        return [id_ for id_ in self.ids if id_ > after][:most]

    def further(self, ids: Sequence[int], failures: Sequence[BulkFailure], untouched: int = 0) -> BulkAction:
        """The same after these links, of which some failed and some were so already."""
        return replace(
            self,
            after=ids[-1],
            done=self.done + len(ids) - len(failures),
            failed=self.failed + len(failures),
            untouched=self.untouched + untouched,
            failures=[*self.failures, *failures][:TOLD],
        )


# ------------------------------------------------------------------ reading


def chosen() -> BulkAction:
    """What was selected in the list."""
    fields = submitted_form()
    do = read_action(fields)
    if "all" not in fields:
        ids = sorted(set(numbers(fields, "ids")))
        return BulkAction(do, ids=ids, total=len(ids))
    upto = db.session.scalar(select(func.max(Link.id)).where(Link.workspace_id == workspace_id())) or 0
    query = fields.text("query")
    total = FAMILY.total(read_filters(query))
    return BulkAction(do, is_all=True, query=query, upto=upto, total=total)


def read_work() -> BulkAction:
    """The action and its progress, from the form of the later pages."""
    fields = submitted_form()
    ids, reasons = numbers(fields, "failed_id"), [str(value) for value in fields.getlist("reason")]
    return BulkAction(
        read_action(fields),
        ids=sorted(numbers(fields, "ids")),
        is_all="all" in fields,
        query=fields.text("query"),
        batch=read_batch(fields, "batch"),
        undoes=read_batch(fields, "undoes"),
        failures=[BulkFailure(*pair) for pair in zip(ids, reasons, strict=False)],
        counts=PreviewCounts(**{name: number(fields, name) for name in COUNTS}),
        **{name: number(fields, name) for name in WHOLE},
    )


def read_filters(query: str) -> dict[str, str]:
    """The filters of the list that was shown. Raises Malformed, Invalid."""
    return list_params.of_pairs(parse_query(query.encode()), several=LISTING.several)


def read_action(fields: RequestData) -> str:
    do = fields.text("do")
    if do not in WORDS:
        raise Invalid(FieldError(_l("Choose what to do with the links."), "choice"))
    return do


def read_batch(fields: RequestData, name: str) -> str:
    text = fields.text(name)
    return text if BATCH.fullmatch(text) else ""


def numbers(fields: RequestData, name: str) -> list[int]:
    """Ids from repeated fields, or separated by commas in one field."""
    words = [word for value in fields.getlist(name) for word in str(value).split(",")]
    return [int(word) for word in words if word.isascii() and word.isdigit() and len(word) < 19]


def number(fields: RequestData, name: str) -> int:
    return next(iter(numbers(fields, name)), 0)


def read_form(fields: RequestData | None) -> ManyForm:
    return ManyForm(
        fields,
        owner=current_access(),
        zone=rendering.owner_zone(),
        settings=current_app.config["WAYPOST"],
        host=request.host,
    )


def asked_fields(fields: RequestData) -> RequestData:
    """The fields as ManyForm reads them: without those to be left as they are, and with one tag a line."""
    plain: list[tuple[str, Any]] = []
    link_like: list[tuple[str, Any]] = []
    for name, index, value in fields.pairs():
        if name in CARRIED | BUTTONS | PREVIEW_BUTTONS or (name in KEPT and value == KEEP):
            continue
        if name.startswith(READ_AS_LINKS):
            link_like.append((f"{name}[{index}]", value))
        else:
            plain += [(name, line) for line in lines_of(name, value)]
    read = form_input.link_fields(RequestData(link_like))
    return RequestData([*plain, *((f"{name}[{index}]", value) for name, index, value in read.pairs())])


def lines_of(name: str, value: Value) -> Iterable[Value]:
    """The values of a field: of tags one a line, and of a list none that is empty."""
    if name in STRIPPED and isinstance(value, str):
        return [value.strip()]
    lines = str(value).splitlines() if name.endswith("_tags") else [value]
    return [line for line in lines if line != "" or not name.startswith(("add_", "remove_"))]


def carried_fields() -> list[tuple[str, str]]:
    """What was asked, for the hidden controls of the next page."""
    return [
        (f"{name}[{index}]" if name.startswith("targeting_") else name, value)
        for name, index, value in asked_fields(submitted_form()).pairs()
        if isinstance(value, str)
    ]
