"""Reads a statistics query from the parameters of a request."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from app.analytics.dimensions import DIMENSIONS, OVERVIEW, TYPES
from app.analytics.periods import ONE_DAY
from app.analytics.statistics import StatisticsQuery
from app.core.errors import FieldError
from app.input.listing import one_of
from app.input.params import ParamReader, QueryParams
from app.input.parsers import Rejected, parse_boolean, plain_text

DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
FIRST_YEAR, LAST_YEAR = 2000, 2099
DAYS = 30
UTC = "UTC"
MAX_VALUE = 8192  # characters of any value that a click can have
NO_WORDS: Mapping[str, Sequence[str]] = {}


def read_statistics_query(
    params: QueryParams,
    workspace_id: int,
    link_ids: tuple[int, ...] | None,
    *,
    zone: str = UTC,
    words: Mapping[str, Sequence[str]] = NO_WORDS,
) -> StatisticsQuery:
    """Reads a statistics query; raises Invalid with every parameter that can't be used.

    An empty parameter counts as missing; only an empty dimension asks for the clicks whose value is unknown.
    Unknown parameters are ignored. `words` names further parameters that the caller reads itself, with the
    values that each may have.
    """
    reader = ParamReader(params, ignores_empty=True)
    in_zone = reader.read("timezone", time_zone(zone), time_zone)
    end = reader.read("end_date", None, read_date)
    start = reader.read("start_date", None, read_date)
    type_ = reader.read("type", OVERVIEW, one_of(TYPES))
    bots = reader.read("bots", False, parse_boolean)
    for name, known in words.items():
        reader.read(name, "", one_of(known))
    filters = read_filters(reader)
    start, end = span_of(start, end, dt.datetime.now(in_zone).date())
    if not reader.problems and start > end:
        text = "The last day must not be before the first."
        reader.problems.append(FieldError(text, "range", "end_date"))
    reader.require_valid()
    return StatisticsQuery(
        workspace_id=workspace_id,
        link_ids=link_ids,
        type=type_,
        start=start,
        end=end,
        zone=in_zone,
        bots=bots,
        filters=filters,
    )


def read_filters(reader: ParamReader) -> dict[str, str | None]:
    """The value asked for of each dimension in the parameters; None means unknown."""
    return {
        name: reader.read(name, None, plain_value, MAX_VALUE) for name in DIMENSIONS if name in reader.params
    }


def plain_value(text: str) -> str:
    return plain_text(text, MAX_VALUE)


def span_of(start: dt.date | None, end: dt.date | None, today: dt.date) -> tuple[dt.date, dt.date]:
    """The first and last day asked for: without a start 30 days, without an end up to today."""
    last = end or (max(today, start) if start else today)
    return start or last - (DAYS - 1) * ONE_DAY, last


def read_date(text: str) -> dt.date:
    try:
        found = dt.date.fromisoformat(text) if DAY.fullmatch(text) else None
    except ValueError:
        found = None
    if found is None:
        raise Rejected("This must be a day like 2026-01-31.", "date")
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise Rejected(f"This must be a day of the years {FIRST_YEAR} to {LAST_YEAR}.", "range")
    return found


def time_zone(text: str) -> ZoneInfo:
    if text not in known_zones():
        raise Rejected("This must be the name of a time zone, as Europe/Berlin.", "timezone")
    return ZoneInfo(text)


@cache
def known_zones() -> frozenset[str]:
    return frozenset(available_timezones())
