"""Dates as services and spreadsheets write them, and in which order day, month and year stand in them.

`31/01/2026`, `1/31/26 2:30 PM`, `31.01.2026 14:30`, `2026/1/31`: what a spreadsheet writes depends on the
country that it is set to (Unicode CLDR has the patterns: day first in most countries, month first in the
United States, year first in East Asia). One order holds for a whole file. It is recognised by the dates that
fit in one order alone, such as `31/01/2026`; where all fit in several, it must be asked for. Dots are never
written month first, and where the year has four digits and comes first, the month follows everywhere.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from app.core.clock import now
from app.i18n.messages import lazy_gettext as _l
from app.input.parsers import Rejected, no_moment, parse_datetime

DAY, MONTH, YEAR = "day", "month", "year"
EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        DAY: _l("Day first: 31/01/2026"),
        MONTH: _l("Month first: 01/31/2026"),
        YEAR: _l("Year first: 2026/01/31"),
    }
)
PLACES: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {DAY: (2, 1, 0), MONTH: (2, 0, 1), YEAR: (0, 1, 2)}
)
CENTURY_ENDS = 70  # 69 is 2069, 70 is 1970, as POSIX has it
NOON = 12
EARLIEST = dt.datetime(1995, 1, 1, tzinfo=dt.UTC)
LATEST = dt.timedelta(days=36_500)  # from now
FRACTION = re.compile(r"(?<=:\d\d)\.\d+")  # of a second
WORDED = (
    *("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y %H:%M", "%b %d, %Y %I:%M %p"),
    *("%d-%b-%Y", "%d-%b-%y", "%d-%b-%Y %H:%M", "%d-%b-%Y %H:%M:%S", "%d-%b-%y %H:%M"),
)
UNKNOWN = _l("Choose the order of day, month and year: this date can be read in several ways.")
NO_DAY = _l("There is no such day in this file's order of day, month and year.")

DATE = re.compile(
    r"(?P<first>\d{4}|\d{1,2})(?P<sign>[/.-])\s?(?P<second>\d{1,2})(?P=sign)\s?(?P<third>\d{4}|\d{1,2})\.?"
    r"(?:(?:,?\s{1,2}|T)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<seconds>\d{2})(?:\.\d+)?)?"
    r"\s?(?P<half>[AaPp]\.?[Mm]\.?)?\s?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?)?",
    re.ASCII,
)


class Orders(NamedTuple):
    """The orders in which all dates of a file can be read, and whether the owner must choose one."""

    possible: tuple[str, ...] = ()
    is_open: bool = False

    @property
    def order(self) -> str:
        """The only possible order; "" where none is needed, or several are possible."""
        return self.possible[0] if len(self.possible) == 1 else ""


NO_ORDERS = Orders()


def recognise(texts: Iterable[str]) -> Orders:
    """The orders that these cells allow. Texts that are not such dates are ignored."""
    left, is_seen = set(PLACES), False
    for text in texts:
        days = days_of(text)
        if days:
            left &= days.keys()
            # 31/01/2026 decides, 01/02/2026 asks, 05/05/2026 is the same in every order
            is_seen = is_seen or len(set(days.values())) > 1 or len(days) == 1
    if not is_seen:
        return NO_ORDERS
    # no order fits all dates: the owner must choose one
    possible = tuple(order for order in PLACES if order in left) or tuple(PLACES)
    return Orders(possible, is_open=len(possible) > 1)


def days_of(text: str) -> dict[str, dt.date]:
    """Order → the day that the text means in it; empty where it is no such date, or needs no order."""
    match = DATE.fullmatch(text.strip())
    if match is None or is_full(match["first"]):
        return {}
    found = {order: day_in(match, order) for order in PLACES}
    return {order: day for order, day in found.items() if day is not None}


def day_in(match: re.Match[str], order: str) -> dt.date | None:
    """The day in this order; None where there is no such day."""
    parts = (match["first"], match["second"], match["third"])
    if is_full(parts[0]):
        order = YEAR
    if (order == MONTH and match["sign"] == ".") or (order == YEAR and is_full(parts[2])):
        return None
    year, month, day = (parts[place] for place in PLACES[order])
    century = 0 if is_full(year) else 2000 if int(year) < CENTURY_ENDS else 1900
    try:
        return dt.date(century + int(year), int(month), int(day))
    except ValueError:
        return None


def is_full(number: str) -> bool:
    """Whether the number can only be a year."""
    return len(number) > 2


def read_date(text: str, order: str = "") -> dt.datetime | None:
    """The moment in UTC; None for a text that is no such date.

    Raises Rejected for a date that is impossible in this order, or that needs one where none is given.
    """
    match = DATE.fullmatch(text)
    if match is None:
        return None
    days: set[dt.date | None] = {day_in(match, order)} if order else set(days_of(text).values())
    days = days or {day_in(match, YEAR)}
    if len(days) > 1:
        raise Rejected(UNKNOWN, "datetime")
    day = days.pop()
    if day is None:
        raise Rejected(NO_DAY, "datetime")
    return moment_of(day, match)


def moment_of(day: dt.date, match: re.Match[str]) -> dt.datetime | None:
    hour = int(match["hour"] or 0)
    if match["half"]:
        if not 1 <= hour <= NOON:
            return None
        hour = hour % NOON + (NOON if match["half"][0] in "Pp" else 0)
    zone = (match["zone"] or "Z").replace("UTC", "Z").replace("GMT", "Z").replace("Z", "+00:00")
    try:
        time = dt.time(hour, int(match["minute"] or 0), int(match["seconds"] or 0))
        found = dt.datetime.fromisoformat(f"{day.isoformat()}T{time.isoformat()}{zone}")
        return found.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


def when(text: str, date_order: str = "") -> dt.datetime:
    """A moment as services write it: in the contract's format, with fractions, as Unix time, in English.

    Also as spreadsheets write it, with day, month and year in `date_order`.
    """
    simple = FRACTION.sub("", text.strip()).removesuffix(" UTC")
    found = from_number(simple) or as_ours(re.sub(r" (?=[+-]\d)", "", simple))
    found = found or read_date(text.strip(), date_order) or from_words(simple)
    if found is None:
        raise no_moment()
    if not EARLIEST <= found <= now() + LATEST:
        raise Rejected(_l("This can't be the time at which a link was created, or will end."), "datetime")
    return found


def as_ours(text: str) -> dt.datetime | None:
    try:
        return parse_datetime(text)
    except Rejected:
        return None


def from_number(text: str) -> dt.datetime | None:
    if not re.fullmatch(r"\d{10}|\d{13}", text):
        return None
    return dt.datetime.fromtimestamp(int(text[:10]), dt.UTC)


def from_words(text: str) -> dt.datetime | None:
    for form in WORDED:
        try:
            return dt.datetime.strptime(text, form).replace(tzinfo=dt.UTC)
        except ValueError:
            continue
    return None
