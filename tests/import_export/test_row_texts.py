"""Aliases whole, with their slashes and without a host, and cells that are empty."""

from __future__ import annotations

import pytest

from app.import_export.conventions import NULLS, Conventions
from app.import_export.row_texts import alias_cell, alias_of, hosts_of, texts_of
from app.input.parsers import Rejected

ALIASES = {
    "an alias": ("foo", "foo"),
    "with a slash": ("blog/launch", "blog/launch"),
    "with several": ("a/b/c", "a/b/c"),
    "as plugins of YOURLS write it": ("/blog/launch/", "blog/launch"),
    "a whole address": ("https://s.test/foo", "foo"),
    "a whole address of several parts": ("https://s.test/blog/launch", "blog/launch"),
    "a whole address with a slash at its end": ("https://s.test/f%C3%B6o/", "föo"),
    "a query of a visitor": ("https://s.test/foo?utm=1#x", "foo"),
    "no scheme": ("//s.test/a/b", "a/b"),
    "the row's own host": ("s.test/blog/launch", "blog/launch"),
    "the row's own host in capitals": ("S.Test/foo", "foo"),
    "no host that is known": ("v1.2/notes", "v1.2/notes"),
    "a name that looks like a host": ("docs.example/launch", "docs.example/launch"),
}


@pytest.mark.parametrize(("text", "alias"), ALIASES.values(), ids=ALIASES)
def test_aliases(text: str, alias: str) -> None:
    assert alias_of(text, {"s.test"}) == alias


def test_in_a_column_of_addresses_the_first_part_is_a_host() -> None:
    assert alias_of("docs.example/blog/launch", is_address=True) == "blog/launch"
    assert alias_of("launch", is_address=True) == "launch"


@pytest.mark.parametrize("text", ["https://s.test", "https://s.test/", "s.test/", "http://[/x"])
def test_an_address_without_an_alias_is_told(text: str) -> None:
    """Otherwise its link would silently get another alias."""
    with pytest.raises(Rejected):
        alias_of(text, {"s.test"})


def test_hosts_of_a_row() -> None:
    assert hosts_of({"domain": "https://Go.Test/"}, "s.test/foo") == {"go.test", "s.test"}
    assert hosts_of({}, "foo") == set()


CELLS = {
    "an alias beside a whole address": ({"url": "spring"}, "https://bit.ly/3abc", ("spring", False, [])),
    "none beside a whole address": ({}, "bit.ly/3abc", ("bit.ly/3abc", True, [])),
    "a list of one": ({"url": '["https://t.test/one"]'}, "https://bit.ly/3abc", ("https://t.test/one", False, [])),
    "a list of several": ({"url": '["https://t.test/one","https://t.test/two"]'}, "", ("https://t.test/one", False, ["https://t.test/two"])),
    "an empty list": ({"url": "[]"}, "https://bit.ly/3abc", ("https://bit.ly/3abc", True, [])),
    "no list": ({"url": "[x"}, "", ("[x", False, [])),
}  # fmt: skip


@pytest.mark.parametrize(("texts", "whole", "expected"), CELLS.values(), ids=CELLS)
def test_the_cell_that_an_alias_is_in(
    texts: dict[str, str], whole: str, expected: tuple[object, ...]
) -> None:
    assert alias_cell(texts, whole, Conventions()) == (*expected, whole)


def test_an_alias_among_addresses_stays_whole() -> None:
    addresses = Conventions(has_addresses=True)
    for text, expected in (("bit.ly/a/b", "a/b"), ("blog/launch", "blog/launch"), ("launch", "launch")):
        cell = alias_cell({"url": text}, "", addresses)
        assert alias_of(cell.text, is_address=cell.is_address) == expected


def test_null_is_empty_where_a_table_says_so() -> None:
    cells, columns = (
        {"a": "NULL", "b": "null", "c": "\\N", "d": "NULLA"},
        {"title": "a", "notes": "b", "url": "c", "tags": "d"},
    )
    assert texts_of(cells, columns, Conventions(nulls=NULLS)) == {"tags": "NULLA"}
    assert texts_of(cells, columns, Conventions())["title"] == "NULL"


def test_a_password_in_a_column_that_turns_up_late() -> None:
    known = Conventions(known=frozenset({"url"}))
    assert (
        texts_of({"url": "a", "isPasswordProtected": "true"}, {"url": "url"}, known)["has_password"] == "true"
    )
    assert texts_of({"url": "a", "password": ""}, {"url": "url"}, known) == {"url": "a"}
    left_out = Conventions(known=frozenset({"url", "password"}))
    assert texts_of({"url": "a", "password": "x"}, {"url": "url"}, left_out) == {"url": "a"}
