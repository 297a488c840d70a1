"""API of statistics: reports and single clicks, of one link or of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from flask import Response

from app.accounts.access import get_owned
from app.analytics import export, statistics
from app.analytics.params import NO_WORDS, read_statistics_query
from app.analytics.statistics import StatisticsQuery, StatisticsReport
from app.api import envelope
from app.api.auth import request_access
from app.api.blueprint import blueprint
from app.core.database import begin_read
from app.core.extensions import db
from app.links.models import Link
from app.web.body import read_params

FORMATS = ("json", "csv")


@blueprint.get("/statistics", endpoint="statistics", strict_slashes=False)
def of_all() -> Response:
    return report(None)


@blueprint.get("/statistics/<row_id:id>", endpoint="statistics_link", strict_slashes=False)
def of_link(id: int) -> Response:
    return report(id)


@blueprint.get("/statistics/clicks", endpoint="statistics_clicks", strict_slashes=False)
def clicks_of_all() -> Response:
    return clicks(None)


@blueprint.get("/statistics/<row_id:id>/clicks", endpoint="statistics_link_clicks", strict_slashes=False)
def clicks_of_link(id: int) -> Response:
    return clicks(id)


def report(link_id: int | None) -> Response:
    question = read_request_query(link_id, {"format": FORMATS})
    if read_params().get("format") == "csv":
        whole = replace(question, limit=export.EVERYTHING)
        found = statistics.make_report(db.session, whole)
        return download(export.export_report(found.rows, question.type), question.type, question)
    found = statistics.make_report(db.session, question)
    return envelope.json_response(described(question, found))


def clicks(link_id: int | None) -> Response:
    """Single clicks, always as CSV."""
    question = read_request_query(link_id)
    return download(export.export_visits(db.engine, question), "clicks", question)


def read_request_query(link_id: int | None, words: Mapping[str, Sequence[str]] = NO_WORDS) -> StatisticsQuery:
    """The request's query for one link of the caller, or for all of them."""
    params = read_params()
    begin_read(db.session)
    link = get_owned(request_access(), Link, link_id) if link_id is not None else None
    return read_statistics_query(
        params, request_access().workspace_id, None if link is None else (link.id,), words=words
    )


def described(question: StatisticsQuery, found: StatisticsReport) -> dict[str, Any]:
    """The answer; with filters also the days that it covers, since single clicks are deleted in time."""
    if not question.filters:
        return {"data": found.rows}
    start, end = found.covers or (question.start, question.end)
    covers = {"start_date": str(start), "end_date": str(end)} if start <= end else None
    return {"data": found.rows, "meta": {"covers": covers}}


def download(lines: Iterator[str], name: str, question: StatisticsQuery) -> Response:
    filename = f"waypost-{name}-{question.start}-{question.end}.csv"
    return Response(
        lines,
        headers={"Content-Disposition": f'attachment; filename="{filename}"'},
        content_type="text/csv; charset=utf-8",
    )
