"""Which question do a request's parameters ask of the statistics?"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from app.clicks.dimensions import DIMENSIONS, OVERVIEW, TYPES
from app.clicks.periods import ONE_DAY
from app.clicks.statistics import Asked
from app.errors import FieldError
from app.lists import one_of
from app.params import ParamReader
from app.reading import Rejected, flag, plain

DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
FIRST_YEAR, LAST_YEAR = 2000, 2099
DAYS = 30
UTC = "UTC"
MAX_VALUE = 8192  # characters of any value that a visit can have
NO_WORDS: Mapping[str, Sequence[str]] = {}


def asked_by(
    parameters: Mapping[str, str],
    user_id: int,
    link_ids: tuple[int, ...] | None,
    *,
    zone: str = UTC,
    words: Mapping[str, Sequence[str]] = NO_WORDS,
) -> Asked:
    """`words` has more parameters that an edge reads for itself, with what each may be.

    Raises Invalid with every parameter that can't be used. One sent empty is one not sent, save that of a
    dimension, which asks for the visits of which it is unknown. Parameters nobody knows are ignored.
    """
    question = ParamReader(parameters, ignores_empty=True)
    in_zone = question.read("timezone", time_zone(zone), time_zone)
    end = question.read("end_date", None, date)
    start = question.read("start_date", None, date)
    type_ = question.read("type", OVERVIEW, one_of(TYPES))
    bots = question.read("bots", False, flag)
    for name, known in words.items():
        question.read(name, "", one_of(known))
    filters = read_filters(question)
    start, end = spanned(start, end, dt.datetime.now(in_zone).date())
    if not question.problems and start > end:
        text = "The last day must not be before the first."
        question.problems.append(FieldError(text, "range", "end_date"))
    question.require_valid()
    return Asked(
        user_id=user_id,
        link_ids=link_ids,
        type=type_,
        start=start,
        end=end,
        zone=in_zone,
        bots=bots,
        filters=filters,
    )


def read_filters(reader: ParamReader) -> dict[str, str | None]:
    """The visits of which values are asked for; None is unknown."""
    return {
        name: reader.read(name, None, plain_value, MAX_VALUE) for name in DIMENSIONS if name in reader.params
    }


def plain_value(text: str) -> str:
    return plain(text, MAX_VALUE)


def spanned(start: dt.date | None, end: dt.date | None, today: dt.date) -> tuple[dt.date, dt.date]:
    """The days asked for: 30 up to the end where no start is said; up to today where no end is."""
    last = end or (max(today, start) if start else today)
    return start or last - (DAYS - 1) * ONE_DAY, last


def date(text: str) -> dt.date:
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
