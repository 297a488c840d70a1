"""The preview of an import: what its check says of each row, and what became of it afterwards.

An import that updates links writes only what its preview says: `settled` tells which rows have nothing to
write, and `late_problems` which would do something else by now.
"""

# see docs/decisions/2026-11-24-imports-that-update.md
from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, select, update

from app.core.database import AnySession, begin_write
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.import_export.models import MAX_SHOWN_ALIAS, LinkImport, PreviewRow
from app.import_export.readers.reader import storable
from app.import_export.results import MEANWHILE, Claims, RowResult, digest_of
from app.import_export.rows import Difference, ParsedRow
from app.import_export.tables import TableRow
from app.links.bulk_edit import GONE

#: the kind of a row by the counter of the import that it is in
KINDS: Mapping[str, str] = MappingProxyType(
    {"changed": "changed", "made": "new", "known": "unchanged", "failed": "wrong"}
)
MAX_LISTED = 10_000  # of an import that only adds: its preview is for reading alone
MAX_VALUE = 300  # characters that are shown of a value
MAX_MEMBERS = 20  # that are shown of a list
CONTEXT = 60  # characters that are shown before the first that differs
BATCH_SIZE = 2_000
PAGE_SIZE = 100

NOW_THERE = _l("One of your links has this alias since the file was checked. Check it again.")
Outcome = ParsedRow | RowResult


class Previewed(NamedTuple):
    """One row, what it asks for, and its result."""

    row: TableRow
    outcome: Outcome
    result: RowResult


class Checked(NamedTuple):
    """What the check of a row said, apart from the session: each step's transaction ends it."""

    kind: str
    digest: str
    differences: list[Difference]


def forget(session: AnySession, import_id: int) -> int:
    """Remove one batch of the preview of an import, and commit. Returns how many rows it had."""
    begin_write(session)
    some = select(PreviewRow.number).where(PreviewRow.import_id == import_id).limit(BATCH_SIZE)
    numbers = session.scalars(some).all()
    if numbers:
        mine = PreviewRow.import_id == import_id, PreviewRow.number.in_(numbers)
        session.execute(delete(PreviewRow).where(*mine), execution_options={"synchronize_session": False})
    session.commit()
    return len(numbers)


def store(job: LinkImport, found: Sequence[Previewed]) -> None:
    """Store what a check says. The caller's transaction moves the position as well."""
    rows = [values_of(job.id, one) for one in found if job.is_update or one.row.number <= MAX_LISTED]
    if rows:
        db.session.connection().execute(insert(PreviewRow.__table__), rows)


def values_of(import_id: int, one: Previewed) -> dict[str, Any]:
    row, outcome, result = one
    parsed = ParsedRow({}, []) if isinstance(outcome, RowResult) else outcome
    # a wrong row has claimed nothing: a later one may be right
    is_first = result.what != "failed"
    return {
        "import_id": import_id,
        "number": row.number,
        "line": row.line,
        "kind": KINDS[result.what],
        "link_id": parsed.link_id if is_first else None,
        "alias_digest": digest_of(parsed.alias_key) if parsed.alias_key and is_first else None,
        "alias": storable(parsed.alias[:MAX_SHOWN_ALIAS]),
        "differences": [shorten(each) for each in parsed.differences],
        "digest": "" if parsed.is_new else parsed.digest,
    }


def shorten(difference: Difference) -> Difference:
    """The difference with as much of long values as shows what differs."""
    name, *values = difference
    texts = [value for value in values if isinstance(value, str)]
    start = max(0, common_length(texts) - CONTEXT) if max(map(len, texts), default=0) > MAX_VALUE else 0
    return [name, *(shorten_value(value, start) for value in values)]


def common_length(texts: Sequence[str]) -> int:
    """How many characters all texts begin with."""
    pairs = enumerate(zip(*texts, strict=False))
    return next((at for at, found in pairs if len(set(found)) > 1), min(map(len, texts), default=0))


def shorten_value(value: Any, start: int = 0) -> Any:
    if isinstance(value, str):
        end = start + MAX_VALUE
        return storable(("…" if start else "") + value[start:end] + ("…" if len(value) > end else ""))
    if isinstance(value, list):
        more = ["…"] if len(value) > MAX_MEMBERS else []
        return [*(shorten_value(member) for member in value[:MAX_MEMBERS]), *more]
    return value


def claims_of(job: LinkImport) -> Claims:
    """What the rows that were checked so far have taken: another process may have checked them."""
    mine = PreviewRow.import_id == job.id, PreviewRow.number <= job.position
    aliases = select(PreviewRow.alias_digest).where(*mine, PreviewRow.alias_digest.is_not(None))
    links = select(PreviewRow.link_id).where(*mine, PreviewRow.link_id.is_not(None))
    found = Claims(set(db.session.scalars(aliases)), set(db.session.scalars(links)))
    db.session.rollback()
    return found


# --- while rows are written


def of_rows(job: LinkImport, rows: Sequence[TableRow]) -> dict[int, Checked]:
    """What the check said of these rows, by their number."""
    if not rows:
        return {}
    mine = PreviewRow.import_id == job.id, PreviewRow.number.between(rows[0].number, rows[-1].number)
    wanted = select(PreviewRow.number, PreviewRow.kind, PreviewRow.digest, PreviewRow.differences)
    return {number: Checked(*values) for number, *values in db.session.execute(wanted.where(*mine))}


def settled(before: Mapping[int, Checked]) -> dict[int, RowResult]:
    """Results of rows that write nothing, whatever has changed since: their preview said so."""
    results = {"unchanged": RowResult("known"), "wrong": RowResult("failed", is_listed=True)}
    return {number: results[one.kind] for number, one in before.items() if one.kind in results}


def late_problems(outcome: Outcome, said: Checked | None) -> RowResult | None:
    """The failure of a row that would not do what its preview says. None for one that does."""
    if said is None or isinstance(outcome, RowResult):
        return None
    if outcome.is_new:
        return None if said.kind == "new" else RowResult("failed", [["", GONE]])
    if outcome.is_unchanged or outcome.digest == said.digest:
        return None
    if said.kind == "new":
        return RowResult("failed", [["url", NOW_THERE]])
    previous = {name: (before, after) for name, before, after in said.differences}
    now = {name: (before, after) for name, before, after in map(shorten, outcome.differences)}
    late = [name for name in now | previous if now.get(name) != previous.get(name)]
    return RowResult("failed", [[name, MEANWHILE] for name in late or [""]])


def follow(job: LinkImport, found: Sequence[Previewed], before: Mapping[int, Checked]) -> None:
    """Store what became of rows where it is not what the preview says."""
    for row, _, result in found:
        if row.number in before and before[row.number].kind != KINDS[result.what]:
            mine = PreviewRow.import_id == job.id, PreviewRow.number == row.number
            changed = update(PreviewRow).where(*mine).values(kind=KINDS[result.what])
            db.session.execute(changed, execution_options={"synchronize_session": False})


# --- while it is read


def page_of(job: LinkImport, kind: str, page: int) -> Sequence[PreviewRow]:
    """The rows of one kind on a page, in the order of the file."""
    mine = select(PreviewRow).where(PreviewRow.import_id == job.id, PreviewRow.kind == kind)
    ordered = mine.order_by(PreviewRow.number)
    return db.session.scalars(ordered.offset((page - 1) * PAGE_SIZE).limit(PAGE_SIZE)).all()


def count_listed(job: LinkImport) -> dict[str, int]:
    """How many rows of each kind the preview has."""
    mine = select(PreviewRow.kind, func.count()).where(PreviewRow.import_id == job.id)
    return dict(db.session.execute(mine.group_by(PreviewRow.kind)).all())
