"""Slices of numbers: any part of the order is what sorting gives."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from app.input.bit_slices import SlicedNumbers, slice_numbers
from app.input.bitmaps import of_offsets

PLACES = 4096
CHANCE = random.Random(7)
NUMBERS: Mapping[str, Sequence[int]] = {
    "all 0": [0] * PLACES,
    "all 1": [1] * PLACES,
    "one that is not 0": [0] * 77 + [5] + [0] * (PLACES - 78),
    "each another": CHANCE.sample(range(10 * PLACES), PLACES),
    "few of many": [CHANCE.choice((0, 0, 0, 1, 2, 900)) for _ in range(PLACES)],
    "very different": [CHANCE.randrange(2 ** CHANCE.randrange(1, 63)) for _ in range(PLACES)],
}
MEMBERS = {
    "all": range(3 * PLACES),
    "one": [PLACES + 9],
    "some": sorted(CHANCE.sample(range(3 * PLACES), 2000)),
    "of the last alone": range(2 * PLACES, 3 * PLACES),
}


@pytest.mark.parametrize("few", [1, 50, 10**6])
@pytest.mark.parametrize("members", MEMBERS)
@pytest.mark.parametrize("name", NUMBERS)
def test_any_part_is_what_sorting_gives(
    name: str, members: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.input.bit_slices.FEW", few)
    numbers = [*NUMBERS[name], *NUMBERS["few of many"], *NUMBERS["all 0"]]
    head = b"12345678"
    parts = [numbers[start : start + PLACES] for start in range(0, len(numbers), PLACES)]
    sliced = SlicedNumbers([head + slice_numbers(part) for part in parts], PLACES // 8, len(head))
    places = MEMBERS[members]
    wanted = sorted(places, key=lambda place: (numbers[place], place))
    bits = sum(
        of_offsets(place - start for place in places if start <= place < start + PLACES) << start
        for start in range(0, len(numbers), PLACES)
    )
    for most in (1, 25, 1000, len(wanted)):
        for skipped in {0, 1, len(wanted) // 3, len(wanted) // 2, len(wanted) - 1} & set(range(len(wanted))):
            some = min(most, len(wanted) - skipped)
            assert sliced.places(bits, skipped, some) == wanted[skipped : skipped + some]
            first, last = sliced.ranked(bits, [skipped, skipped + some - 1])
            together = [place for place in places if first.number <= numbers[place] <= last.number]
            assert sorted(sliced.between(bits, first, last)) == together


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_at_ranks(name: str) -> None:
    numbers = NUMBERS[name]
    sliced = SlicedNumbers([slice_numbers(numbers)], PLACES // 8)
    members = range(0, PLACES, 3)
    in_order = sorted(numbers[place] for place in members)
    ranks = (0, 1, len(in_order) // 2, len(in_order) - 1)
    for rank, found in zip(ranks, sliced.ranked(of_offsets(members), ranks), strict=True):
        assert found.number == in_order[rank]
        assert found.before == in_order.index(found.number)
        assert found.size == in_order.count(found.number)


def test_a_number_of_each_place() -> None:
    numbers = NUMBERS["very different"]
    sliced = SlicedNumbers([slice_numbers(numbers)], PLACES // 8)
    assert [sliced.number_at(place) for place in range(PLACES)] == list(numbers)
