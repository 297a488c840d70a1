"""Schedules: a link starts and ends to the second, in any time zone, also across daylight saving changes."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

import pytest
import time_machine

from tests.clients import Api
from tests.redirects.conftest import Person

THERE, AFTER = "https://example.com/there", "https://after.example/?a=1"
SECOND = dt.timedelta(seconds=1)


class Zone(NamedTuple):
    """A local start and end with a daylight saving change between them, and both in UTC."""

    start: str
    starts: str
    end: str
    ends: str


ZONES = {
    "Europe/Berlin": Zone("2027-03-28 01:59:59", "2027-03-28 00:59:59", "2027-03-28 03:00:01", "2027-03-28 01:00:01"),
    "America/New_York": Zone("2027-11-07 00:30:00", "2027-11-07 04:30:00", "2027-11-07 02:00:00", "2027-11-07 07:00:00"),
    "Australia/Lord_Howe": Zone("2027-04-04 01:00:00", "2027-04-03 14:00:00", "2027-04-04 02:00:00", "2027-04-03 15:30:00"),
    "America/St_Johns": Zone("2027-03-14 01:30:07", "2027-03-14 05:00:07", "2027-03-14 03:00:00", "2027-03-14 05:30:00"),
    "Pacific/Auckland": Zone("2027-09-26 01:00:00", "2027-09-25 13:00:00", "2027-09-26 03:30:00", "2027-09-25 14:30:00"),
}  # fmt: skip
BEFORE = dt.datetime(2027, 1, 1, tzinfo=dt.UTC)


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)


def open_at(person: Person, when: dt.datetime) -> tuple[int, str | None]:
    with time_machine.travel(when, tick=False):
        answer = person.open("/a")
    assert THERE not in answer.text
    assert str(when.year) not in answer.text, "no date is told"
    return answer.status_code, answer.headers.get("Location")


def opens_and_closes(person: Person, zone: Zone, *, after: tuple[int, str | None]) -> None:
    """The start is inclusive, the end exclusive."""
    starts, ends = moment(zone.starts), moment(zone.ends)
    inside = dt.timedelta(milliseconds=999)
    assert open_at(person, starts - SECOND) == (404, None)
    assert open_at(person, starts - SECOND + inside) == (404, None)
    assert open_at(person, starts) == (302, THERE)
    assert open_at(person, ends - SECOND) == (302, THERE)
    assert open_at(person, ends - SECOND + inside) == (302, THERE)
    assert open_at(person, ends) == after
    assert open_at(person, ends + SECOND) == after


OFFSETS = {
    "Europe/Berlin": ("+01:00", "+02:00"),
    "America/New_York": ("-04:00", "-05:00"),
    "Australia/Lord_Howe": ("+11:00", "+10:30"),
    "America/St_Johns": ("-03:30", "-02:30"),
    "Pacific/Auckland": ("+12:00", "+13:00"),
}


@pytest.mark.databases
@pytest.mark.parametrize(("name", "zone"), ZONES.items(), ids=ZONES)
def test_with_the_offset_that_the_api_was_sent(name: str, zone: Zone, person: Person, api: Api) -> None:
    start, end = (
        f"{text}{offset}" for text, offset in zip((zone.start, zone.end), OFFSETS[name], strict=True)
    )
    fields = {"location_url": THERE, "url": "a", "schedule": "1", "start_date": start, "end_date": end}
    fields |= {"expiration_url": AFTER, "utm_source": "mail", "forward_query_parameters_is_enabled": "1"}
    with time_machine.travel(BEFORE):
        made = api.post("/links", fields)
    found = api.get(f"/links/{made.json['data']['id']}").json["data"]
    assert (found["start_date"], found["end_date"]) == (zone.starts, zone.ends)
    starts, ends = moment(zone.starts), moment(zone.ends)
    there = f"{THERE}?utm_source=mail"
    assert open_at(person, starts - SECOND) == (404, None)
    assert open_at(person, starts) == (302, there)
    assert open_at(person, ends - SECOND) == (302, there)
    assert open_at(person, ends) == (302, AFTER), "without UTM and without the visitor's query"


def test_without_an_offset_the_api_means_utc(person: Person, api: Api) -> None:
    zone = Zone("2027-03-28 01:30:00", "2027-03-28 01:30:00", "2027-03-28 02:30:00", "2027-03-28 02:30:00")
    sent = {
        "location_url": THERE,
        "url": "a",
        "schedule": "1",
        "start_date": zone.start,
        "end_date": zone.end,
    }
    with time_machine.travel(BEFORE):
        assert api.post("/links", sent).status_code == 201
    opens_and_closes(person, zone, after=(410, None))
