"""Parsers of cells: dates, hosts, tags, and names of pixels and handlers, as services write them."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from app.import_export.value_parsers import (
    host_of,
    missing_names,
    named_ids,
    names_of,
    pairs_of,
    tags_of,
    when,
)
from app.input.parsers import Rejected

MOMENTS = {
    "ours": "2024-01-02 03:04:05",
    "ISO": "2024-01-02T03:04:05Z",
    "ISO with milliseconds": "2024-01-02T03:04:05.678Z",
    "ISO with no milliseconds": "2024-01-02T03:04:05.000Z",
    "ISO with microseconds and an offset": "2024-01-02T05:04:05.123456+02:00",
    "ISO with an offset": "2024-01-02T05:04:05+02:00",
    "MySQL's with an offset": "2024-01-02 05:04:05 +0200",
    "with its zone": "2024-01-02 03:04:05 UTC",
    "Unix": "1704164645",
    "Unix in milliseconds": "1704164645123",
}
DAYS = {
    "day": "2024-01-02",
    "English": "Jan 2, 2024",
    "English in full": "January 2, 2024",
    "British": "2 Jan 2024",
    "slashes from the year on": "2024/01/02",
    "a spreadsheet's with letters": "02-Jan-2024",
    "the same, short": "2-Jan-24",
    "day first, as the file has it": "02/01/2024",
}


@pytest.mark.parametrize("text", MOMENTS.values(), ids=MOMENTS.keys())
def test_moments(text: str) -> None:
    assert when(text) == dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


@pytest.mark.parametrize("text", DAYS.values(), ids=DAYS.keys())
def test_days(text: str) -> None:
    assert when(text, "day") == dt.datetime(2024, 1, 2, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "text", ["01/02/2024", "soon", "0001-01-01", "9999-12-31", "2024-13-01", "99999999999999"]
)
def test_no_moment(text: str) -> None:
    with pytest.raises(Rejected):
        when(text)


def test_hosts() -> None:
    assert [host_of(text) for text in ("https://S.test/a", "s.test/a", "s.test:81")] == [
        "s.test",
        "s.test",
        "s.test:81",
    ]


TAGS = {
    "": [],
    "one": ["one"],
    "a, b ,c": ["a", "b", "c"],
    "a|b, c": ["a", "b, c"],
    "a;b": ["a", "b"],
    '["a, b","c|d"]': ["a, b", "c|d"],
    '[{"id":"1","name":"a","color":"red"},{"name":"b"}]': ["a", "b"],
    "[x": ["[x"],
}


@pytest.mark.parametrize(("text", "tags"), TAGS.items())
def test_tags(text: str, tags: list[str]) -> None:
    assert tags_of(text) == tags


def test_pairs_and_names() -> None:
    assert pairs_of('[["DE","https://de.example/"]]') == [("DE", "https://de.example/")]
    assert named_ids(names_of('[["webhook","ours"]]', "handler"), {("webhook", "ours"): [3]}) == [3]


BAD = {"no list": "x", "no pairs": "[1]", "three": '[["a","b","c"]]', "an object": "{}"}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_bad_pairs_and_names(text: str) -> None:
    with pytest.raises(Rejected):
        pairs_of(text)
    if text in {"x", "{}"}:
        with pytest.raises(Rejected):
            names_of(text, "pixel")
    else:
        assert missing_names(names_of(text, "pixel"), {})


PIXELS = {
    ("social_a", "1"): [1, 2, 3],
    ("social_a", "1", "Shop"): [1],
    ("social_a", "1", "Blog"): [2, 3],
    ("social_a", "2"): [4],
    ("social_a", "2", "Other"): [4],
}


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        ([["social_a", "1", "Shop"]], [1]),
        ([["social_a", "1", "Blog"], ["social_a", "1", "Shop"]], [1, 2]),
        ([["social_a", "1", "Blog"]] * 2, [2, 3]),
        ([["social_a", "1"]] * 2, [1, 2]),  # as exports had it before names were in them
    ],
)
def test_pixels_of_one_type_and_id_are_told_apart(names, ids):
    found = names_of(json.dumps(names), "pixel")
    assert missing_names(found, PIXELS) == {}
    assert named_ids(found, PIXELS) == ids


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        ([["social_a", "1", "Renamed"]], {("social_a", "1", "Renamed"): 1}),
        ([["social_a", "2", "Renamed"]], {("social_a", "2", "Renamed"): 1}),  # though it is the only one
        (
            [["social_a", "2", "One"], ["social_a", "2", "Two"]],
            {("social_a", "2", "One"): 1, ("social_a", "2", "Two"): 1},
        ),
        ([["social_a", "2", "Other"]] * 3, {("social_a", "2", "Other"): 2}),
    ],
)
def test_a_pixel_is_not_taken_for_another(names, missing):
    assert missing_names(names_of(json.dumps(names), "pixel"), PIXELS) == missing
