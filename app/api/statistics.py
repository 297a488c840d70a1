"""What does the API tell of the visits to one's links?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flask import Response

from app.api import envelope
from app.api.auth import caller
from app.bodies import read_query
from app.clicks import export, statistics
from app.clicks.asking import NO_WORDS, asked_by
from app.clicks.statistics import Asked, Report
from app.database import begin_read
from app.extensions import db
from app.links.models import Link
from app.ownership import get_owned

FORMATS = ("json", "csv")


def of_all() -> Response:
    return report(None)


def of_link(id: int) -> Response:
    return report(id)


def clicks_of_all() -> Response:
    return clicks(None)


def clicks_of_link(id: int) -> Response:
    return clicks(id)


def report(link_id: int | None) -> Response:
    question = asked(link_id, {"format": FORMATS})
    if dict(read_query()).get("format") == "csv":
        found = statistics.report(db.session, replace(question, limit=export.EVERYTHING))
        return download(export.report(found.rows, question.type), question.type, question)
    return envelope.answer(described(question, statistics.report(db.session, question)))


def clicks(link_id: int | None) -> Response:
    """Single visits, always as CSV."""
    question = asked(link_id)
    return download(export.visits(db.engine, question), "clicks", question)


def asked(link_id: int | None, words: Mapping[str, Sequence[str]] = NO_WORDS) -> Asked:
    """What is asked of a link of the caller's, or of all of them."""
    parameters = dict(read_query())
    begin_read(db.session)
    link = get_owned(caller(), Link, link_id) if link_id is not None else None
    return asked_by(parameters, caller().id, None if link is None else (link.id,), words=words)


def described(question: Asked, found: Report) -> dict[str, Any]:
    """With filters, also which days the answer is of: single visits are not kept for ever."""
    if not question.filters:
        return {"data": found.rows}
    start, end = found.covers or (question.start, question.end)
    covers = {"start_date": str(start), "end_date": str(end)} if start <= end else None
    return {"data": found.rows, "meta": {"covers": covers}}


def download(lines: Iterator[str], name: str, question: Asked) -> Response:
    filename = f"waypost-{name}-{question.start}-{question.end}.csv"
    return Response(
        lines,
        headers={"Content-Disposition": f'attachment; filename="{filename}"'},
        content_type="text/csv; charset=utf-8",
    )
