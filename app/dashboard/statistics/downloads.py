"""How do the figures of a statistics page get into a spreadsheet?"""

from __future__ import annotations

from collections.abc import Iterator

from flask import Response

from app.clicks import export
from app.clicks.dimensions import TYPES
from app.clicks.statistics import report
from app.dashboard.exports import note_export
from app.dashboard.statistics.scopes import Scope
from app.dashboard.statistics.state import State
from app.database import begin_read
from app.errors import NotThere
from app.extensions import db

CLICKS = "clicks"  # the single visits


def download(scope: Scope, state: State, name: str) -> Response:
    """A report as the API has it, with all of its rows, or the single visits. Raises NotThere."""
    if name not in {*TYPES, CLICKS}:
        raise NotThere("report")
    note_export("statistics.exported", report=name)
    begin_read(db.session)  # as the page's own, which the entry has ended
    file = f"waypost-{name}-{state.span.start}-{state.span.end}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return Response(lines(scope, state, name), headers=headers, content_type="text/csv; charset=utf-8")


def lines(scope: Scope, state: State, name: str) -> Iterator[str]:
    if name == CLICKS:
        return export.visits(db.engine, scope.asked(state, "overview"))
    found = report(db.session, scope.asked(state, name, limit=export.EVERYTHING))
    return export.report(found.rows, name)
