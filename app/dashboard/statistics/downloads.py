"""CSV downloads of a statistics page."""

from __future__ import annotations

from collections.abc import Iterator

from flask import Response

from app.analytics import export
from app.analytics.dimensions import TYPES
from app.analytics.statistics import make_report
from app.core.database import begin_read
from app.core.errors import NotFound
from app.core.extensions import db
from app.dashboard.imports.exports import note_export
from app.dashboard.statistics.scopes import PageScope
from app.dashboard.statistics.state import PageState

CLICKS = "clicks"  # the single clicks


def download(scope: PageScope, state: PageState, name: str) -> Response:
    """A report of the API with all its rows, or the single clicks. Raises NotFound."""
    if name not in {*TYPES, CLICKS}:
        raise NotFound("report")
    note_export("statistics.exported", report=name)
    begin_read(db.session)  # the audit entry has ended the transaction that the page began
    file = f"waypost-{name}-{state.span.start}-{state.span.end}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return Response(lines(scope, state, name), headers=headers, content_type="text/csv; charset=utf-8")


def lines(scope: PageScope, state: PageState, name: str) -> Iterator[str]:
    if name == CLICKS:
        return export.export_visits(db.engine, scope.asked(state, "overview"))
    found = make_report(db.session, scope.asked(state, name, limit=export.EVERYTHING))
    return export.export_report(found.rows, name)
