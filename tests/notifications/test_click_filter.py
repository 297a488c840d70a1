"""Click filters: which clicks pass, and which number decides."""

from __future__ import annotations

from typing import Any

import pytest

from app.notifications.click_filter import ClickFilter


def clicks(*marks: str) -> list[dict[str, Any]]:
    """`1DE` is a click on link 1 from Germany; with `*` of a bot; `1?` from an unknown country."""
    return [
        {
            "id": f"clk_{number}",
            "is_bot": mark.endswith("*"),
            "country_code": mark[1:3] if mark[1:2] not in {"", "?", "*"} else None,
            "link": {"id": int(mark[0])},
        }
        for number, mark in enumerate(marks)
    ]


CASES: dict[str, tuple[dict[str, Any], list[str], list[int]]] = {
    "people only": ({}, ["1DE", "1DE*", "2?"], [0, 2]),
    "bots only": ({"is_bot": True}, ["1DE", "1DE*", "2?"], [1]),
    "from countries": ({"countries": ["DE", "FR"]}, ["1DE", "1US", "2FR", "1?", "1DE*"], [0, 2]),
    "each third of a link": (
        {"every": 3},
        ["1DE", "2DE", "1DE", "1DE", "2DE", "1DE*", "2DE", "1DE"],
        [3, 6],
    ),
    "each": ({"every": 1}, ["1DE", "1DE"], [0, 1]),
    "the first of a link": ({"first": True}, ["1DE*", "1DE", "2US", "1DE", "2DE"], [1, 2]),
    "the first of a link from a country": (
        {"first": True, "countries": ["DE"]},
        ["1US", "1DE", "1DE", "2US", "2DE"],
        [1, 4],
    ),
    "each second from a country": (
        {"every": 2, "countries": ["DE"]},
        ["1DE", "1US", "1DE", "1DE", "1DE"],
        [2, 4],
    ),
}


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("name", CASES)
def test_which_clicks_pass(name: str, size: int) -> None:
    """The same ones, however they come in pages."""
    stored, marks, expected = CASES[name]
    click_filter, numbers, chosen = ClickFilter.of(stored), {}, []
    found = clicks(*marks)
    for start in range(0, len(found), size):
        chosen += click_filter.select(found[start : start + size], numbers)
    assert [found.index(click) for click in chosen] == expected
    assert bool(numbers) == click_filter.counts


def test_a_first_click_is_counted_no_further_than_needed() -> None:
    numbers: dict[int, int] = {}
    ClickFilter(first=True).select(clicks(*["1DE"] * 9), numbers)
    assert numbers == {1: 2}


@pytest.mark.parametrize("stored", [None, {}, ClickFilter(("DE",), is_bot=True, every=5).as_object()])
def test_a_filter_is_read_as_it_is_stored(stored: dict[str, Any] | None) -> None:
    assert ClickFilter.of(ClickFilter.of(stored).as_object()) == ClickFilter.of(stored)
