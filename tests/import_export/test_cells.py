"""Reading of cells as services and our own export write them: aliases, tags, names, moments, hashes."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from app.accounts.passwords import HASHER, check_password
from app.import_export.cells import (
    alias_cell,
    alias_of,
    had_password,
    host_of,
    hosts_of,
    missing_names,
    named_ids,
    names_of,
    pairs_of,
    read_hash,
    tags_of,
    texts_of,
)
from app.import_export.columns import NULLS, Conventions
from app.import_export.dates import when
from app.input.parsers import Rejected

ALIASES = {
    "an alias": ("foo", "foo"),
    "with slashes": ("a/b/c", "a/b/c"),
    "as plugins of YOURLS write it": ("/blog/launch/", "blog/launch"),
    "a whole address of several parts": ("https://s.test/blog/launch", "blog/launch"),
    "a whole address with a slash at its end": ("https://s.test/f%C3%B6o/", "föo"),
    "a query of a visitor": ("https://s.test/foo?utm=1#x", "foo"),
    "no scheme": ("//s.test/a/b", "a/b"),
    "the row's own host in capitals": ("S.Test/foo", "foo"),
    "no host that is known": ("docs.example/launch", "docs.example/launch"),
    # without one its link would silently get another alias
    "an address without an alias": ("s.test/", None),
    "an address with a scheme and no alias": ("https://s.test", None),
    "no address": ("http://[/x", None),
}


@pytest.mark.parametrize(("text", "alias"), ALIASES.values(), ids=ALIASES)
def test_aliases(text: str, alias: str | None) -> None:
    if alias is not None:
        assert alias_of(text, {"s.test"}) == alias
        return
    with pytest.raises(Rejected):
        alias_of(text, {"s.test"})


def test_hosts() -> None:
    assert hosts_of({"domain": "https://Go.Test/"}, "s.test/foo") == {"go.test", "s.test"}
    assert hosts_of({}, "foo") == set()
    assert host_of("s.test:81") == "s.test:81"


CELLS = {
    "an alias beside a whole address": ({"url": "spring"}, "https://bit.ly/3abc", ("spring", False, [])),
    "none beside a whole address": ({}, "bit.ly/3abc", ("bit.ly/3abc", True, [])),
    "a list of several": ({"url": '["https://t.test/one","https://t.test/two"]'}, "", ("https://t.test/one", False, ["https://t.test/two"])),
    "an empty list": ({"url": "[]"}, "https://bit.ly/3abc", ("https://bit.ly/3abc", True, [])),
    "no list": ({"url": "[x"}, "", ("[x", False, [])),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "whole", "expected"), CELLS.values(), ids=CELLS)
def test_the_cell_that_an_alias_is_in(texts, whole, expected) -> None:
    assert alias_cell(texts, whole, Conventions()) == (*expected, whole)


def test_an_alias_among_addresses_stays_whole() -> None:
    addresses = Conventions(has_addresses=True)
    for text, expected in (("bit.ly/a/b", "a/b"), ("blog/launch", "blog/launch"), ("launch", "launch")):
        cell = alias_cell({"url": text}, "", addresses)
        assert alias_of(cell.text, is_address=cell.is_address) == expected


def test_null_is_empty_where_a_table_says_so() -> None:
    cells = {"a": "NULL", "b": "null", "c": "\\N", "d": "NULLA"}
    columns = {"title": "a", "notes": "b", "url": "c", "tags": "d"}
    assert texts_of(cells, columns, Conventions(nulls=NULLS)) == {"tags": "NULLA"}
    assert texts_of(cells, columns, Conventions())["title"] == "NULL"


def test_a_password_in_a_column_that_turns_up_late() -> None:
    known = Conventions(known=frozenset({"url"}))
    late = texts_of({"url": "a", "isPasswordProtected": "true"}, {"url": "url"}, known)
    assert late["has_password"] == "true"
    left_out = Conventions(known=frozenset({"url", "password"}))
    assert texts_of({"url": "a", "password": "x"}, {"url": "url"}, left_out) == {"url": "a"}


MOMENTS = {
    "ours": "2024-01-02 03:04:05",
    "ISO with milliseconds": "2024-01-02T03:04:05.678Z",
    "ISO with microseconds and an offset": "2024-01-02T05:04:05.123456+02:00",
    "MySQL's with an offset": "2024-01-02 05:04:05 +0200",
    "with its zone": "2024-01-02 03:04:05 UTC",
    "Unix": "1704164645",
    "Unix in milliseconds": "1704164645123",
}
DAYS = ("2024-01-02", "Jan 2, 2024", "January 2, 2024", "2 Jan 2024", "2024/01/02", "2-Jan-24", "02/01/2024")


@pytest.mark.parametrize("text", MOMENTS.values(), ids=MOMENTS)
def test_moments(text: str) -> None:
    assert when(text) == dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


def test_days_and_no_moments() -> None:
    assert {when(text, "day") for text in DAYS} == {dt.datetime(2024, 1, 2, tzinfo=dt.UTC)}
    for text in ("01/02/2024", "soon", "0001-01-01", "9999-12-31", "2024-13-01", "99999999999999"):
        with pytest.raises(Rejected):
            when(text)


TAGS = {
    "": [],
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


def test_pairs() -> None:
    assert pairs_of('[["DE","https://de.example/"]]') == [("DE", "https://de.example/")]
    for text in ("x", "[1]", '[["a","b","c"]]', "{}"):
        with pytest.raises(Rejected):
            pairs_of(text)


# --- names of pixels

PIXELS = {
    ("social_a", "1"): [1, 2, 3],
    ("social_a", "1", "Shop"): [1],
    ("social_a", "1", "Blog"): [2, 3],
    ("social_a", "2"): [4],
    ("social_a", "2", "Other"): [4],
}
NAMES = {
    "by name": ([["social_a", "1", "Blog"], ["social_a", "1", "Shop"]], [1, 2], {}),
    "two of one name": ([["social_a", "1", "Blog"]] * 2, [2, 3], {}),
    "as exports had it before names were in them": ([["social_a", "1"]] * 2, [1, 2], {}),
    "another name, though it is the only one": ([["social_a", "2", "New"]], [], {("social_a", "2", "New"): 1}),
    "more than there are": ([["social_a", "2", "Other"]] * 3, [], {("social_a", "2", "Other"): 2}),
    "no name": ([1], [], {(): 1}),
}  # fmt: skip


@pytest.mark.parametrize(("names", "ids", "missing"), NAMES.values(), ids=NAMES)
def test_pixels_are_told_apart(names: list[object], ids: list[int], missing: dict[object, int]) -> None:
    found = names_of(json.dumps(names), "pixel")
    assert missing_names(found, PIXELS) == missing
    if not missing:
        assert named_ids(found, PIXELS) == ids
    with pytest.raises(Rejected):
        names_of("{}", "pixel")


# --- passwords

SALT, DIGEST = "c2FsdHNhbHRzYWx0c2FsdA", "x" * 42 + "w"


def hash_of(
    memory: object = 19456, passes: object = 2, lanes: int = 1, salt: str = SALT, digest: str = DIGEST
) -> str:
    return f"$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${digest}"


def test_hashes_of_our_own_and_up_to_the_bounds() -> None:
    assert read_hash(made := HASHER.hash("x")) == made
    for text in (hash_of(), hash_of(64 * 1024, 4, 4), hash_of(8, 1, 1)):
        assert read_hash(text) == text
        assert not check_password(text, "x")  # argon2 reads it, and says no


BAD = {
    "memory": hash_of(memory=64 * 1024 + 1),
    "absurd memory": hash_of(memory=2**32 - 1),
    "passes": hash_of(passes=5),
    "lanes": hash_of(lanes=5),
    "no memory": hash_of(memory=0),
    "leading zero": hash_of(memory="019456"),
    "more digits than any number has": hash_of(memory="9" * 5000),
    "argon2i": hash_of().replace("argon2id", "argon2i"),
    "key id": hash_of().replace("p=1", "p=1,keyid=AAAA"),
    "short salt": hash_of(salt="c2FsdA"),
    "no base64": hash_of(salt="A" * 21),
    "bits left over": hash_of(digest="x" * 43),
    "line end": hash_of() + "\n",
    "bcrypt": "$2b$12$" + "a" * 53,
    "mask": "********",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_no_other_hash_is_taken(text: str) -> None:
    with pytest.raises(Rejected):
        read_hash(text)


def test_marks_of_a_password() -> None:
    assert not any(map(had_password, ("", " ", "0", "false", "No", "null")))
    assert had_password("hunter2")
