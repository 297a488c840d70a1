"""Downloads of an owner's links, and of the failed rows of an import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flask import Response, stream_with_context
from sqlalchemy import select

from app.accounts.access import require
from app.audit.services import record
from app.core.clock import now
from app.core.csv_files import csv_pieces, unescape_text
from app.core.database import begin_write
from app.core.extensions import db
from app.dashboard.auth.access import signed_in_user
from app.dashboard.auth.reauthentication import require_recent_password
from app.dashboard.imports.views import get_own_import, table_of
from app.dashboard.links.filters import LISTING
from app.dashboard.shared import list_params
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import current_access, workspace_id
from app.import_export.exporter import KINDS, export
from app.import_export.models import FailedRow
from app.web import urls
from app.web.body import read_list_query


@blueprint.get("/links/export.csv", endpoint="links_export", defaults={"kind": "csv"})
@blueprint.get("/links/export.json", endpoint="links_export", defaults={"kind": "json"})
def export_file(kind: str) -> Response:
    """Those links that the list shows with the same parameters, all pages of it.

    JSON has hashes of passwords and the settings of handlers, so viewers get CSV only.
    """
    if kind == "json":
        require(current_access(), "read_secrets")
    site = urls.links_site()
    note_export("links.exported", format=kind)
    found = export(
        workspace_id(),
        list_params.of_pairs(read_list_query(), several=LISTING.several),
        kind,
        lambda url, domain: urls.short_url_at(domain or site, url),
        LISTING,
    )
    return download(found, KINDS[kind], f"links-{now():%Y-%m-%d}.{kind}")


def note_export(action: str, workspace_id: int | None = None, **changes: str) -> None:
    """In the audit log, before the first byte of the file leaves. Raises PasswordNeeded.

    `workspace_id`: whose rows are in the file, where the page is of no workspace.
    """
    require_recent_password()
    begin_write(db.session)
    record(db.session, action, account=signed_in_user(), workspace_id=workspace_id, **dict[str, Any](changes))
    db.session.commit()


@blueprint.get("/imports/<int:id>/failed.csv", endpoint="imports_failed")
def failed_file(id: int) -> Response:
    """The failed rows as they came, each with its problem, to be corrected and imported again."""
    job = get_own_import(id)
    note_export("failed_rows.exported", format="csv")
    table = table_of(job)
    head = table.columns if table else ()
    return download(csv_pieces(failed_rows(job.id, head)), "text/csv; charset=utf-8", f"failed-{job.id}.csv")


def failed_rows(import_id: int, head: Sequence[str]) -> Iterator[list[Any]]:
    yield [*map(unescape_text, head), "line", "problem"]
    mine = FailedRow.import_id == import_id, FailedRow.is_made.is_(False)
    rows = select(FailedRow).where(*mine).order_by(FailedRow.number)
    for row in db.session.scalars(rows.execution_options(yield_per=500)):
        said = "; ".join(f"{field}: {words}" if field else str(words) for field, words in row.problems)
        # the cells are kept as they came: what was escaped there is not escaped twice here
        yield [*map(unescape_text, row.cells), row.line, said]


def download(pieces: Iterator[str], kind: str, name: str) -> Response:
    response = Response(stream_with_context(pieces), content_type=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
