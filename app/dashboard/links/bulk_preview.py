"""Preview of a bulk change: how many links change, and each change with the changed part marked.

Looking at many links takes as many short requests as changing them. What is listed is worked out again for
each part of the list, so that no request and no page grows with the number of links.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from flask import Response

from app.dashboard.auth.access import submitted_form
from app.dashboard.links.bulk_progress import BulkAction, PreviewCounts, carried_fields, number
from app.dashboard.links.history import Wording
from app.dashboard.links.rows import short_address
from app.dashboard.links.views import FAMILY
from app.dashboard.shared import rendering
from app.dashboard.shared.workspace import current_access, workspace_id
from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import ngettext
from app.links import bulk_edit
from app.links.bulk_edit import PREVIEW_BATCH_SIZE, LinkPreview, preview
from app.links.bulk_forms import ManyForm
from app.links.replacement import TARGETING, Piece, Replaced, Replacement
from app.links.schema import SETTINGS

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
