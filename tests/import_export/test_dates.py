"""Dates as spreadsheets write them, in each order, and the recognition of a file's order."""

from __future__ import annotations

import datetime as dt

import pytest

from app.import_export.dates import DAY, MONTH, YEAR, read_date, recognise
from app.input.parsers import Rejected

JANUARY, FEBRUARY = dt.datetime(2026, 1, 2, tzinfo=dt.UTC), dt.datetime(2026, 2, 1, tzinfo=dt.UTC)

READ = {
    "day first": ("02/01/2026", DAY, JANUARY),
    "month first": ("01/02/2026", MONTH, JANUARY),
    "day first, short year": ("02/01/26", DAY, JANUARY),
    "year first, short year": ("26/01/02", YEAR, JANUARY),
    "dots": ("02.01.2026", DAY, JANUARY),
    "a year of four digits is first in any order": ("2026/1/2", DAY, JANUARY),
    "East Asian dots": ("2026. 1. 2.", MONTH, JANUARY),
    "day first, a time": ("02/01/2026 14:30", DAY, JANUARY.replace(hour=14, minute=30)),
    "afternoon": ("1/2/26 2:30 PM", MONTH, JANUARY.replace(hour=14, minute=30)),
    "midnight": ("1/2/2026 12:05 a.m.", MONTH, JANUARY.replace(minute=5)),
    "an offset": ("02/01/2026 02:00:00 +0200", DAY, JANUARY),
    "only one order fits": ("31/01/2026", "", dt.datetime(2026, 1, 31, tzinfo=dt.UTC)),
    "dots are never month first": ("01.02.2026", "", FEBRUARY),
    "last century": ("31/01/99", DAY, dt.datetime(1999, 1, 31, tzinfo=dt.UTC)),
}


@pytest.mark.parametrize(("text", "order", "moment"), READ.values(), ids=READ)
def test_read_in_an_order(text: str, order: str, moment: dt.datetime) -> None:
    assert read_date(text, order) == moment


REJECTED = {
    "no order": ("01/02/2026", "", "can be read in several"),
    "no day in this order": ("31/01/2026", MONTH, "no such day"),
    "the year is last, not first": ("31/01/2026", YEAR, "no such day"),
    "no day in any order": ("45/45/2026", "", "no such day"),
    "no day of this month": ("2026/2/30", "", "no such day"),
    "dots in a file with the month first": ("01.02.2026", MONTH, "no such day"),
}


@pytest.mark.parametrize(("text", "order", "said"), REJECTED.values(), ids=REJECTED)
def test_rejected(text: str, order: str, said: str) -> None:
    with pytest.raises(Rejected, match=said):
        read_date(text, order)


@pytest.mark.parametrize(
    "text", ["", "soon", "2026-W01", "1704164645", "1/2", "1/2.2026", "1/2/2026 99", "١/٢/٢٠٢٦"]
)
def test_no_date_of_a_spreadsheet(text: str) -> None:
    assert read_date(text, DAY) is None


@pytest.mark.parametrize("time", ["25:00", "13:00 PM", "0:30 AM", "12:61", "10:00 +9999"])
def test_an_impossible_time(time: str) -> None:
    assert read_date(f"02/01/2026 {time}", DAY) is None


TOLD = {
    "nothing there": ([], ((), False, "")),
    "no dates of a spreadsheet": (["2026-01-02", "x", "1704164645"], ((), False, "")),
    "the same in every order": (["05/05/2026"], ((), False, "")),
    "day first by one of them": (["01/02/2026", "31/01/2026"], ((DAY,), False, DAY)),
    "month first by one of them": (["01/31/2026", "01/02/2026"], ((MONTH,), False, MONTH)),
    "year first by one of them": (["26/01/02", "99/01/02"], ((YEAR,), False, YEAR)),
    "dots": (["01.02.2026"], ((DAY,), False, DAY)),
    "either": (["01/02/2026", "03/04/2026"], ((DAY, MONTH), True, "")),
    "any of three": (["01/02/03"], ((DAY, MONTH, YEAR), True, "")),
    "both, which can't be": (["31/01/2026", "01/31/2026"], ((DAY, MONTH, YEAR), True, "")),
}


@pytest.mark.parametrize(("texts", "expected"), TOLD.values(), ids=TOLD)
def test_the_order_is_recognised_or_open(texts: list[str], expected: tuple[object, bool, str]) -> None:
    found = recognise(texts)
    assert (found.possible, found.is_open, found.order) == expected
