"""Which files can an owner take away: her links, and the rows of a table that could not become links?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flask import Blueprint, Response, stream_with_context
from sqlalchemy import select

from app import own_addresses
from app.audit.services import record
from app.bodies import read_list_query
from app.clock import now
from app.csv_files import csv_pieces, unescape_text
from app.dashboard.guard import user
from app.dashboard.imports import mine, table_of
from app.dashboard.link_filters import LISTING
from app.dashboard.reauthentication import require_recent_password
from app.database import begin_write
from app.extensions import db
from app.transfer.exporting import KINDS, export
from app.transfer.models import FailedRow


def register(blueprint: Blueprint) -> None:
    blueprint.add_url_rule("/imports/<int:id>/failed.csv", "imports_failed", failed_file)
    for kind in KINDS:
        blueprint.add_url_rule(f"/links/export.{kind}", "links_export", export_file, defaults={"kind": kind})


def export_file(kind: str) -> Response:
    """Those links that the list shows with the same parameters, all pages of it."""
    site = own_addresses.site()
    note_export("links.exported", format=kind)
    found = export(
        user().id,
        dict(read_list_query()),
        kind,
        lambda url, domain: own_addresses.short_url_at(domain or site, url),
        LISTING,
    )
    return download(found, KINDS[kind], f"links-{now():%Y-%m-%d}.{kind}")


def note_export(action: str, **changes: str) -> None:
    """In the audit log, before the first byte of the file leaves. Raises PasswordNeeded."""
    require_recent_password()
    begin_write(db.session)
    record(db.session, action, account=user(), **dict[str, Any](changes))
    db.session.commit()


def failed_file(id: int) -> Response:
    """The rows that failed as they came, with what is wrong: to be put right and brought again."""
    job = mine(id)
    if "password_hash" in job.columns:
        require_recent_password()
    table = table_of(job)
    head = table.columns if table else ()
    return download(csv_pieces(failed_rows(job.id, head)), "text/csv; charset=utf-8", f"failed-{job.id}.csv")


def failed_rows(import_id: int, head: Sequence[str]) -> Iterator[list[Any]]:
    yield [*map(unescape_text, head), "line", "problem"]
    mine = FailedRow.import_id == import_id, FailedRow.is_made.is_(False)
    rows = select(FailedRow).where(*mine).order_by(FailedRow.number)
    for row in db.session.scalars(rows.execution_options(yield_per=500)):
        said = "; ".join(f"{field}: {words}" if field else words for field, words in row.problems)
        # the cells are kept as they came: what was escaped there is not escaped twice here
        yield [*map(unescape_text, row.cells), row.line, said]


def download(pieces: Iterator[str], kind: str, name: str) -> Response:
    response = Response(stream_with_context(pieces), content_type=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
