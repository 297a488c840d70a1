"""Edits of a row that was changed elsewhere while its form was open: in another tab, or by another person.

A form carries a fingerprint of each value that it shows. What comes back as it was shown is no change, and
what was changed elsewhere meanwhile stays. A field that both have changed is asked about, with both values.
"""

# see docs/decisions/2026-11-24-concurrent-edits.md
from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NamedTuple

from app.core.extensions import db
from app.dashboard.shared.form_input import touched
from app.dashboard.shared.rendering import full_local_time
from app.i18n.messages import gettext as _
from app.input.data import RequestData, Upload
from app.input.fields import ChoiceField, DateTimeField, FlagField, ListField, SentField, UploadField
from app.input.forms import IdsField, OwnIdField, ResourceForm
from app.links.fields import LinkPasswordField, PairsField

SHOWN = "shown_values"
CHOICE = "keep_"  # and the field's name: "mine" or "theirs"
THEIRS = "theirs"
MAX_SHOWN = 16_384  # characters

Read = Callable[[RequestData | None], ResourceForm]
Marks = Mapping[str, str]


class EditConflict(NamedTuple):
    """Fields that were changed here and elsewhere: both values, in words. `name`: of the first field."""

    name: str
    label: str
    mine: str
    theirs: str


@dataclass(frozen=True)
class Edit:
    """What the form of a stored row knows of the row. `shown` is the text of the hidden control."""

    marks: Marks  # of the row when the form was read
    shown: str
    conflicts: Sequence[EditConflict] = ()

    def asked_about(self) -> Edit:
        """The same for the page that asks: it shows the values as they are now."""
        return replace(self, shown=format_marks(self.marks))


def begin(shown: ResourceForm) -> Edit:
    """The edit of a form that is shown for the first time, with the stored values."""
    marks = marks_of(shown)
    return Edit(marks, format_marks(marks))


def read_edit(read: Read, sent: RequestData | None) -> ResourceForm:
    """The form of a stored row, with its `edit`. `read` makes it of sent fields; None: none yet."""
    shown = read(None)
    if sent is None:
        shown.edit = begin(shown)
        return shown
    changes, edit = merge(sent, shown, read)
    form = read(changes)
    form.edit = edit
    return form


def asks(form: ResourceForm) -> bool:
    """Whether the page must ask before anything is written: it shows the values as they are now."""
    if form.edit is None or not form.edit.conflicts:
        return False
    form.edit = form.edit.asked_about()
    return True


def merge(sent: RequestData, stored: ResourceForm, read: Read) -> tuple[RequestData, Edit]:
    """The sent fields without those that stay as they are stored, and what is to be asked.

    `stored` is the form with the values that the row has now; `read` makes a form of sent fields.
    """
    marks = marks_of(stored)
    shown = {name: mark for name, mark in read_shown(sent).items() if name in marks}
    left = {name for name in marks if sent.text(CHOICE + name) == THEIRS}
    dropped = {name for group in groups_of(stored) if left & {*group} for name in group}
    conflicts: list[EditConflict] = []
    if changed := {name for name, mark in shown.items() if marks[name] != mark}:
        mine = read(without_files(sent))
        for group in groups_of(stored):
            if not changed & {*group} or dropped & {*group}:
                continue
            if not any(is_edited(sent, mine[name], shown.get(name)) for name in group):
                dropped |= {*group}
            elif found := conflict(sent, group, mine, stored):
                conflicts.append(found)
    # a field that is left as it is stored shows its stored value from here on
    now_shown = format_marks(shown | {name: marks[name] for name in dropped if name in shown})
    return touched(without(sent, dropped, stored), stored), Edit(marks, now_shown, conflicts)


def groups_of(form: ResourceForm) -> list[tuple[str, ...]]:
    """The names of the fields, those together that make up one value."""
    together = [tuple(name for name in group if name in form) for group in form.together]
    grouped = {name for group in together for name in group}
    return [*together, *((field.name,) for field in form if field.name not in grouped)]


def is_edited(sent: RequestData, field: SentField, shown: str | None) -> bool:
    """Whether what was sent differs from what the form showed."""
    if isinstance(field, UploadField):
        return field.name in sent
    return field.sent and (bool(field.process_errors) or mark_of(field) != shown)


def conflict(
    sent: RequestData, group: Sequence[str], mine: ResourceForm, stored: ResourceForm
) -> EditConflict | None:
    """Both values of the fields of a group that differ; None where none does."""
    differ = [name for name in group if differs(sent, mine[name], stored[name])]
    if not differ:
        return None
    sides = [words_of_all([form[name] for name in differ]) for form in (mine, stored)]
    uploaded = [name for name in differ if isinstance(mine[name], UploadField)]
    if uploaded:
        sides[0] = _("Another picture") if isinstance(sent.last(uploaded[0]), Upload) else ""
    return EditConflict(group[0], str(mine[differ[0]].label.text), *(text or _("None") for text in sides))


def differs(sent: RequestData, mine: SentField, stored: SentField) -> bool:
    if isinstance(mine, UploadField):
        return mine.name in sent
    return mine.sent and mark_of(mine) != mark_of(stored)


def words_of_all(fields: Sequence[SentField]) -> str:
    if len(fields) == 1:
        return words_of(fields[0])
    return ", ".join(f"{field.label.text}: {words_of(field) or _('None')}" for field in fields)


def words_of(field: SentField) -> str:
    """The value of a field as people read it; "" for none."""
    data = field.data
    if isinstance(field, FlagField):
        return _("On") if data else _("Off")
    if field.process_errors or data is None or data in ("", []):
        return field.raw_text()
    return next((words(field) for kind, words in WORDS if isinstance(field, kind)), field.raw_text())


def names_of(field: Any) -> str:
    """The names of the rows that a field names by their ids."""
    ids = field.data if isinstance(field.data, list) else [field.data]
    rows = ((id_, db.session.get(field.model, id_)) for id_ in ids)
    return ", ".join(str(getattr(row, "name", None) or getattr(row, "host", id_)) for id_, row in rows)


# the first kind that fits
WORDS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (UploadField, lambda field: _("A picture")),  # noqa: ARG005
    (LinkPasswordField, lambda field: _("Set")),  # noqa: ARG005
    (IdsField | OwnIdField, names_of),
    (PairsField, lambda field: "\n".join(f"{key} → {to}" for key, to in field.data)),
    (ListField, lambda field: ", ".join(field.data)),
    (ChoiceField, lambda field: str(field.choices.get(field.data, field.data))),
    (DateTimeField, lambda field: full_local_time(field.data, field.meta.zone)),
)


def marks_of(form: ResourceForm) -> dict[str, str]:
    return {field.name: mark_of(field) for field in form}


def mark_of(field: SentField) -> str:
    """A fingerprint of what a control shows, or of what came back from it."""
    if isinstance(field, UploadField):
        text = str(field.object_data or "")
    elif isinstance(field, FlagField):
        text = str(bool(field.data))
    elif isinstance(field, ListField | PairsField | IdsField):
        data = sorted(field.data or ()) if isinstance(field, IdsField) else [*(field.data or ())]
        text = json.dumps(data)
    elif isinstance(field, LinkPasswordField):  # its control never shows what was typed
        text = str(field.data or "")
    elif isinstance(field, DateTimeField):  # a control has a T between, and leaves out seconds that are 0
        text = field.raw_text().replace("T", " ")
        text = f"{text}:00" if len(text) == len("2026-11-24 10:30") else text
    else:
        text = field.raw_text().replace("\r\n", "\n")  # a control breaks lines by CR LF
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def format_marks(marks: Marks) -> str:
    return " ".join(f"{name}:{mark}" for name, mark in marks.items())


def read_shown(sent: RequestData) -> dict[str, str]:
    """The fingerprints that came with a form; none where it carries none."""
    pairs = (word.partition(":") for word in sent.text(SHOWN)[:MAX_SHOWN].split())
    return {name: mark for name, _, mark in pairs}


def without_files(sent: RequestData) -> RequestData:
    """The same without files: pictures need not be read twice."""
    return RequestData(
        (f"{name}[{index}]", value) for name, index, value in sent.pairs() if not isinstance(value, Upload)
    )


def without(sent: RequestData, names: set[str], form: ResourceForm) -> RequestData:
    """The same without these fields, whose values may stand under names of their own."""
    pairs = {name for name in names if isinstance(form[name], PairsField)}
    gone = names | {f"{name}_{half}" for name in pairs for half in ("key", "value")}
    return RequestData((f"{name}[{index}]", value) for name, index, value in sent.pairs() if name not in gone)
