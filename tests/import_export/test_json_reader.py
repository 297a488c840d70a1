"""JSON as APIs give it: lists, lists under a name, pages one after the other."""

from __future__ import annotations

import io
import json

import pytest

from app.import_export.readers import json as json_reader
from app.import_export.readers import reader
from app.import_export.readers.json import cells_of, elements

ONE, TWO = {"slug": "one"}, {"slug": "two"}
PAGE = {"total": 2, "limit": 10, "skip": 0, "data": [ONE, TWO]}
LISTS = {
    "a list": json.dumps([ONE, TWO]),
    "under data": json.dumps(PAGE),
    "under links, with more behind": json.dumps(
        {"links": [ONE, TWO], "pagination": {"next": "", "page": [1]}}
    ),
    "two levels deep": json.dumps({"shortUrls": {"data": [ONE, TWO], "pagination": {"a": 1}}}),
    "a line each": f"{json.dumps(ONE)}\n{json.dumps(TWO)}\n",
    "a page each": "\n".join(json.dumps({"data": [one], "total": 2}) for one in (ONE, TWO)),
    "a nested page each, with nothing between": "".join(
        json.dumps({"shortUrls": {"data": [one], "pagination": {"data": []}}}) for one in (ONE, TWO)
    ),
    "an empty page between": "".join(json.dumps({"data": one}) for one in ([ONE], [], [TWO])),
    "what looks like an end in a text": json.dumps({"data": [ONE, TWO], "said": ']}{"data":[1]}'}),
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("block", [3, 1 << 16])
def test_every_way_of_listing(text: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "BLOCK", block)
    found = list(elements(io.StringIO(text)))
    assert ([one.value for one in found], [one.problem for one in found]) == ([ONE, TWO], ["", ""])


def test_a_page_that_is_cut_off_says_so() -> None:
    *_, last = elements(io.StringIO(json.dumps(PAGE)[:-1] + ', "more": {"a": "'))
    assert last.problem


def test_what_stands_around_lists_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_STEPS", 100)
    keys = '"a":[1],' * 200
    first, last = elements(io.StringIO('{"data":[{"slug":"one"}],' + keys + '"z":1}'))
    assert (first.value, last.problem) == (ONE, reader.NOTHING)


def test_an_object_may_be_as_long_as_two_pictures_and_no_longer() -> None:
    fits = {**ONE, "data": "x" * (json_reader.MAX_OBJECT - 100)}
    long = {**ONE, "data": "x" * json_reader.MAX_OBJECT}
    text = "[" + ",\n".join(map(json.dumps, (fits, long, TWO))) + "]"
    found = list(elements(io.StringIO(text)))
    assert [one.problem for one in found] == ["", json_reader.TOO_LONG, ""]
    assert (found[0].value, found[2].value) == (fits, TWO)


def test_long_objects_that_are_not_closed_end_reading_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line that opens one costs another reading of all that follows."""
    monkeypatch.setattr(json_reader, "MAX_LINE", 1_000)
    monkeypatch.setattr(json_reader, "MAX_OBJECT", 100_000)
    monkeypatch.setattr(reader, "BLOCK", 1_000)
    found = list(elements(io.StringIO('[\n{"a":[\n' + ("{" * 999 + "\n") * 2_000)))
    assert 1 < len(found) < json_reader.MAX_BROKEN // 50


def test_nested_fields_are_columns_and_tables_by_country_are_not() -> None:
    value = {
        "meta": {"maxVisits": 3, "validUntil": None},
        "geo": {"DE": "https://de.example/"},
        "tags": ["a"],
    }
    assert cells_of(value) == {
        "meta.maxVisits": "3",
        "meta.validUntil": "",
        "geo": '{"DE": "https://de.example/"}',
        "tags": '["a"]',
    }
