"""What to do with many links, how far it is, and a preview: each change with the changed part marked.

The pages' forms carry all of it from request to request. Looking at many links takes as many short requests
as changing them. What is listed is worked out again for each part of the list, so that no request and no page
grows with the number of links.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from flask import Response, current_app, request
from sqlalchemy import func, select

from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.dashboard.auth.access import submitted_form
from app.dashboard.auth.reauthentication import FIELD, PERMIT
from app.dashboard.links.filters import LISTING
from app.dashboard.links.history import Wording
from app.dashboard.links.rows import short_address
from app.dashboard.links.views import FAMILY
from app.dashboard.shared import form_input, list_params, rendering
from app.dashboard.shared.workspace import current_access, workspace_id
from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.i18n.messages import ngettext
from app.input.data import RequestData, Value
from app.input.listing import find_ids
from app.links import bulk_edit
from app.links.bulk_edit import PREVIEW_BATCH_SIZE, BulkFailure, LinkPreview, preview
from app.links.bulk_forms import ManyForm
from app.links.models import Link
from app.links.replacement import TARGETING, Piece, Replaced, Replacement
from app.links.schema import SETTINGS
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


SECONDS = 0.5  # of work in one request
ROWS = 100  # in one part of the list
LINES = 5  # of one link's targeting; the others are counted
# characters of a destination that are shown: around what changes, and of what changes
AROUND, MARKED = 60, 300
PIECES = 20  # parts of one destination that are shown
WRONG = "wrong"


class PreviewedField(NamedTuple):
    """One value before and after. `problem`: why it can't be so."""

    label: str
    before: Sequence[Piece]
    after: Sequence[Piece]
    problem: str = ""


class PreviewedLink(NamedTuple):
    """One link of the preview: what changes of it, or why nothing does. `more`: fields that are not shown."""

    id: int
    address: str
    fields: Sequence[PreviewedField]
    problem: str
    lost: str
    more: int = 0


class PreviewPart(NamedTuple):
    """A part of the list, and the id after which the next one goes on; 0 at the end."""

    rows: Sequence[PreviewedLink]
    next_after: int


def show(work: BulkAction, form: ManyForm) -> Response:
    """Count for `SECONDS`, then go on in the next request; or show the counts with the list's first part."""
    if "shown_after" in submitted_form():
        return show_part(work, form)
    asked = form.changes
    work = replace(work, seen=work.seen or bulk_edit.next_change())
    until = time.monotonic() + SECONDS
    ids = work.next_ids(work.counts.scanned, PREVIEW_BATCH_SIZE)
    while ids:
        work = replace(work, counts=counted(work.counts, ids, preview(current_access(), ids, asked)))
        ids = work.next_ids(work.counts.scanned, PREVIEW_BATCH_SIZE)
        if time.monotonic() > until and ids:
            return show_progress(work)
    return show_part(work, form)


def counted(counts: PreviewCounts, ids: Sequence[int], found: Sequence[LinkPreview]) -> PreviewCounts:
    wrong = sum(bool(one.problem) for one in found)
    changing = sum(bool(one.fields) for one in found)
    return PreviewCounts(
        ids[-1],
        counts.changing + changing,
        counts.same + len(found) - wrong - changing,
        counts.wrong + wrong,
        counts.losing + sum(one.lost_targeting is not None for one in found),
    )


def show_progress(work: BulkAction) -> Response:
    counts = work.counts
    value = counts.changing + counts.same + counts.wrong
    heading = _("Preview: %(done)s of %(total)s", done=digits(value), total=digits(work.total))
    fields = [*carried_fields(), ("preview", "1")]
    return FAMILY.render_page(
        "going", work=work, heading=heading, fields=fields, value=value, is_preview=True
    )


def show_part(work: BulkAction, form: ManyForm) -> Response:
    """The list's next part: for the list's end in a dialog, else a page with the counts and this part."""
    fields = submitted_form()
    only = WRONG if fields.text("only") == WRONG else ""
    part = find_part(work, form, number(fields, "shown_after"), only)
    name = "many_rows" if rendering.is_fragment() and "shown_after" in fields else "many_preview"
    changing = work.counts.changing
    return FAMILY.render_page(
        name,
        work=work,
        part=part,
        only=only,
        is_next="shown_after" in fields,
        fields=[*carried_fields(), ("preview", "1"), ("only", only)],
        heading=ngettext(
            "Preview: 1 link changes", "Preview: %(number)s links change", changing, number=digits(changing)
        ),
    )


def find_part(work: BulkAction, form: ManyForm, after: int, only: str) -> PreviewPart:
    """The next links that change or can't, at most `ROWS`, found within `SECONDS`."""
    asked = form.changes
    wording = Wording(workspace_id(), [], rendering.owner_zone())
    until, rows = time.monotonic() + SECONDS, list[PreviewedLink]()
    while ids := work.next_ids(after, ROWS):
        found = [one for one in preview(current_access(), ids, asked) if is_listed(one, only)]
        wording.learn(one.fields for one in found)
        for one in found:
            rows.append(row_of(one, asked.get("replacement"), wording))
            if len(rows) == ROWS:
                return PreviewPart(rows, one.link.id if work.next_ids(one.link.id, 1) else 0)
        after = ids[-1]
        if time.monotonic() > until:
            return PreviewPart(rows, after if work.next_ids(after, 1) else 0)
    return PreviewPart(rows, 0)


def is_listed(one: LinkPreview, only: str) -> bool:
    return bool(one.problem) if only == WRONG else bool(one.problem or one.fields)


# ---------------------------------------------------------------------- words


def row_of(one: LinkPreview, replacement: Replacement | None, wording: Wording) -> PreviewedLink:
    fields = list(replaced_fields(one.replaced, replacement)) if replacement else []
    names = {replaced.name for replaced in one.replaced}
    fields += [
        PreviewedField(
            SETTINGS[name].label,
            shortened([Piece(wording.words(name, before), True)]),
            shortened([Piece(wording.words(name, after), True)]),
        )
        for name, (before, after) in one.fields.items()
        if name not in names
    ]
    lost = SETTINGS["targeting_type"].choices.get(one.lost_targeting, "") if one.lost_targeting else ""
    # what is said at a destination is not said once more of the link
    problem = "" if any(field.problem for field in fields) else one.problem
    shown = fields[: LINES + 1]
    return PreviewedLink(
        one.link.id, short_address(one.link), shown, problem, str(lost), len(fields) - len(shown)
    )


def replaced_fields(replaced: Iterable[Replaced], replacement: Replacement) -> Iterator[PreviewedField]:
    for one in replaced:
        label = SETTINGS[one.name].label if one.name != TARGETING else _("Targeting: %(key)s", key=one.key)
        yield PreviewedField(
            label,
            shortened(replacement.pieces(one.before, is_after=False)),
            shortened(replacement.pieces(one.before, is_after=True)) if one.after else (),
            str(one.problem) if one.problem else "",
        )


def shortened(pieces: Iterable[Piece]) -> list[Piece]:
    """The first pieces, each without the middle of what is long."""
    some = list(islice((one for one in pieces if one.text), PIECES + 1))
    found = [
        Piece(middle_cut(one.text, MARKED if one.is_changed else 2 * AROUND), one.is_changed)
        for one in some[:PIECES]
    ]
    return [*found, Piece("…", False)] if len(some) > PIECES else found


def middle_cut(text: str, most: int) -> str:
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"
