"""Bitmaps: their stored form, the moments of a block, and parts of what was found."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import pytest

from app.input.bitmaps import BYTES, SIZE, MomentBound, decode, encode, microseconds, of_offsets, offsets_of
from app.input.selections import Selection

OFFSETS: dict[str, Sequence[int]] = {
    "none": [],
    "the first": [0],
    "the last": [SIZE - 1],
    "as many as are stored one by one": range(0, 640, 10),
    "one more": range(0, 650, 10),
    "all": range(SIZE),
}


@pytest.mark.parametrize("name", OFFSETS)
def test_what_is_stored_comes_back(name: str) -> None:
    offsets = list(OFFSETS[name])
    bits = decode(encode(offsets))
    assert bits == of_offsets(offsets) == sum(1 << offset for offset in offsets)
    assert offsets_of(bits) == offsets


def test_the_stored_form_is_short() -> None:
    assert [len(encode(range(size))) for size in (1, 64, 65, SIZE)] == [2, 128, BYTES, BYTES]


NOON = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
BOUNDS = {
    "from then on, later": (MomentBound(NOON, is_start=True), NOON + SECOND, True),
    "from then on, then": (MomentBound(NOON, is_start=True), NOON, True),
    "from then on, earlier": (MomentBound(NOON, is_start=True), NOON - SECOND, False),
    "until then, later": (MomentBound(NOON, is_start=False), NOON + SECOND, False),
    "until then, then": (MomentBound(NOON, is_start=False), NOON, True),
    "before then, then": (MomentBound(NOON, is_start=False, is_inclusive=False), NOON, False),
    "before then, earlier": (MomentBound(NOON, is_start=False, is_inclusive=False), NOON - SECOND, True),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_which_moments_meet_a_bound(name: str) -> None:
    bound, moment, wanted = BOUNDS[name]
    assert bound.meets(microseconds(moment)) is wanted


@pytest.mark.parametrize("rising", [True, False])
@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_parts_of_a_selection(most: int, rising: bool) -> None:
    ids = [3, SIZE - 1, 2 * SIZE, 2 * SIZE + 7, 9 * SIZE + 1]
    selection = Selection({9: 2, 0: 1 << 3 | 1 << (SIZE - 1), 2: 1 | 1 << 7})
    assert selection.size == len(ids)
    wanted = ids if rising else ids[::-1]
    for skipped in range(len(ids) + 1):
        assert selection.read(skipped, most, rising=rising) == wanted[skipped : skipped + most]
