"""What the preview of an import shows: its kinds with their counts, and one page of the rows of one kind."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from app.dashboard.links.history_words import OTHER_PICTURE, PICTURE, FieldChange, words_of_secret
from app.dashboard.links.rows import own_host
from app.dashboard.shared.rendering import full_local_time
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.import_export import preview, services
from app.import_export.columns import COLUMNS
from app.import_export.models import FailedRow, LinkImport, PreviewRow
from app.import_export.rows import DATES, ONLY_NEW
from app.links.history import PICTURES
from app.links.schema import SETTINGS
from app.links.setting import LinkSetting

COUNTERS: Mapping[str, str] = MappingProxyType({kind: counter for counter, kind in preview.KINDS.items()})
#: in the order in which they are shown
WORDS = {"new": _l("New"), "changed": _l("Changed"), "unchanged": _l("Unchanged"), "wrong": _l("Wrong")}
ADDED_WORDS = {**WORDS, "unchanged": _l("Already there")}
NONE = LinkSetting()


class Kind(NamedTuple):
    """One kind of rows: its word, its count, and whether its rows are shown now."""

    name: str
    word: str
    rows: int
    is_shown: bool


class PreviewPage(NamedTuple):
    """A page of the rows of one kind. `listed`: how many of the kind can be shown at all."""

    kinds: Sequence[Kind]
    kind: str
    rows: Sequence[PreviewRow]
    failed: Sequence[FailedRow]
    page: int
    pages: int
    listed: int
    total: int


def read_page(job: LinkImport, params: Mapping[str, Any]) -> PreviewPage:
    """The page that the address names; the first one of the most telling kind where it names none."""
    counts = {kind: int(getattr(job, COUNTERS[kind])) for kind in WORDS if job.is_update or kind != "changed"}
    listed = {**preview.count_listed(job), "wrong": job.failed}
    kind = str(params.get("kind", ""))
    if kind not in counts:
        kind = next((name for name in ("changed", "wrong", "new", "unchanged") if counts.get(name)), "new")
    pages = max(1, -(-listed.get(kind, 0) // preview.PAGE_SIZE))
    page = min(number_of(params.get("page")), pages)
    is_wrong = kind == "wrong"
    words = WORDS if job.is_update else ADDED_WORDS
    return PreviewPage(
        kinds=[Kind(name, words[name], count, name == kind) for name, count in counts.items()],
        kind=kind,
        rows=[] if is_wrong else preview.page_of(job, kind, page),
        failed=services.listed_rows(job, preview.PAGE_SIZE, is_made=False, page=page) if is_wrong else [],
        page=page,
        pages=pages,
        listed=listed.get(kind, 0),
        total=counts[kind],
    )


def number_of(text: object) -> int:
    """The number of a page; the first one for anything else."""
    found = str(text or "")
    return max(1, int(found)) if found.isascii() and found.isdigit() and len(found) < 9 else 1


def untouched(job: LinkImport) -> list[str]:
    """The labels of columns that are read, and change no link that exists."""
    named = [name for name in job.columns if name in ONLY_NEW and name not in services.NAMING]
    return [str(COLUMNS[name].label) for name in named]


def field_changes(row: PreviewRow, zone: dt.tzinfo) -> list[FieldChange]:
    """The differences of a row in words."""
    return [words_of(name, before, after, zone) for name, before, after in row.differences]


def words_of(name: str, before: Any, after: Any, zone: dt.tzinfo) -> FieldChange:
    label = str(COLUMNS[name].label) if name in COLUMNS else name
    if name == "password_hash":
        return FieldChange(label, *words_of_secret(before, after))
    if name in PICTURES:
        another = OTHER_PICTURE if before else PICTURE
        return FieldChange(label, str(PICTURE) if before else "", str(another) if after else "")
    return FieldChange(label, value_words(name, before, zone), value_words(name, after, zone))


def value_words(name: str, value: Any, zone: dt.tzinfo) -> str:
    if value is None or value in ("", []):
        return own_host() if name == "domain" else ""
    if isinstance(value, bool):
        return _("On") if value else _("Off")
    if name in DATES:
        return full_local_time(dt.datetime.fromisoformat(value).replace(tzinfo=dt.UTC), zone)
    if isinstance(value, list):
        return ("\n" if name == "targeting" else ", ").join(member_words(name, member) for member in value)
    return str(SETTINGS.get(name, NONE).choices.get(value, value))


def member_words(name: str, member: Any) -> str:
    """One pair of a targeting list, or the name of one tag, pixel or handler."""
    if not isinstance(member, list) or not member:
        return str(member)
    return " → ".join(map(str, member)) if name == "targeting" else str(member[-1])
