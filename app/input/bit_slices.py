"""Numbers of many rows, sliced by bit: the rows in any part of their order, without sorting them.

Slice b has bit p set where bit b of the number at place p is set (a bit-sliced index, O'Neil and Quass 1997).
The rows whose highest bit is 0 come before those where it is 1. Counting them tells on which side a page
lies, and the next slice parts that side again.
"""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from app.input.bitmaps import BYTES, offsets_of

FEW = 4096  # so many places are sorted by their numbers
DIGITS = [bytes(ord("0") + (value >> bit & 1) for value in range(256)) for bit in range(8)]


def slice_numbers(numbers: Sequence[int]) -> bytes:
    """The slices of numbers from place 0 up, lowest bit first. There must be a multiple of eight."""
    stored = array("Q", reversed(numbers)).tobytes()
    digits = (stored[bit >> 3 :: 8].translate(DIGITS[bit & 7]) for bit in range(max(numbers).bit_length()))
    return b"".join(int(each, 2).to_bytes(len(numbers) // 8, "little") for each in digits)


class EqualBits(NamedTuple):
    """Rows with the same higher bits of which a page has some: `most` after `skipped` ones."""

    members: int
    size: int
    skipped: int
    most: int

    def split(self, higher: int) -> list[EqualBits]:
        """The rows of the page without the next bit, then those with it; `higher` are all that have it."""
        above = self.members & higher
        size = above.bit_count()
        below = self.size - size
        first = min(self.most, below - self.skipped)
        found = []
        if first > 0:
            found.append(EqualBits(self.members ^ above, below, self.skipped, first))
        if first < self.most:
            found.append(EqualBits(above, size, max(0, self.skipped - below), self.most - max(0, first)))
        return found


class Ranked(NamedTuple):
    """A member at a rank: what is known of its number, how many have a lower one, and how many the same."""

    rank: int
    number: int
    before: int
    size: int
    members: int

    def descend(self, higher: int, bit: int) -> Ranked:
        """The same with the next lower bit, which the rows in `higher` have."""
        above = self.members & higher
        size = above.bit_count()
        below = self.size - size
        if self.rank < self.before + below:
            return self._replace(size=below, members=self.members ^ above)
        return self._replace(
            number=self.number | 1 << bit, before=self.before + below, size=size, members=above
        )


class SlicedNumbers:
    """Numbers at places from 0 up. `sliced`: the slices of as many numbers each, one after the other;
    `size`: how many bytes each slice has; `start`: how many bytes come before the first."""

    def __init__(self, sliced: Sequence[bytes], size: int, start: int = 0) -> None:
        self.sliced, self.size, self.start = sliced, size, start
        self.depth = max((len(each) for each in sliced), default=0) // size

    def slice_at(self, bit: int) -> int:
        nothing, start = bytes(self.size), self.start + bit * self.size
        parts = [each[start : start + self.size] or nothing for each in self.sliced]
        return int.from_bytes(b"".join(parts), "little")

    def number_at(self, place: int) -> int:
        which, offset = divmod(place, 8 * self.size)
        byte, bit = offset >> 3, offset & 7
        found = self.sliced[which][self.start + byte :: self.size]
        return sum((each >> bit & 1) << power for power, each in enumerate(found))

    def ranked(self, members: int, ranks: Sequence[int]) -> list[Ranked]:
        """The numbers of the members at these ranks, where the lowest number has rank 0."""
        size = members.bit_count()
        found = [Ranked(rank, 0, 0, size, members) for rank in ranks]
        for bit in reversed(range(self.depth)):
            higher = self.slice_at(bit)
            found = [one.descend(higher, bit) for one in found]
        return found

    def places(self, members: int, skipped: int, most: int) -> list[int]:
        """The first `most` places after `skipped` ones, of those that are set in `members`, by their numbers
        and then by themselves, lowest first. `skipped` must be less than all members."""
        parts = [EqualBits(members, members.bit_count(), skipped, most)]
        for bit in reversed(range(self.depth)):
            if all(some.size <= FEW for some in parts):
                break
            higher = self.slice_at(bit)
            parts = [part for each in parts for part in (each.split(higher) if each.size > FEW else [each])]
        return [place for each in parts for place in self.read(each)]

    def between(self, members: int, first: Ranked, last: Ranked) -> Sequence[int]:
        """The places of all members from the number of `first` to that of `last`, in no order."""
        size = last.before + last.size - first.before
        ends = first.members | last.members
        if ends.bit_count() == size:  # hardly ever is another number between those of one page
            return offsets_of(ends, 8 * self.size * len(self.sliced))
        return self.places(members, first.before, size)

    def read(self, some: EqualBits) -> list[int]:
        last = some.skipped + some.most
        if some.size > FEW:  # of which all have the same number
            return self.nth(some.members, some.skipped, last)
        found = offsets_of(some.members, 8 * self.size * len(self.sliced))
        found.sort(key=self.number_at)  # keeps the order of places with the same number
        return found[some.skipped : last]

    def nth(self, members: int, first: int, last: int) -> list[int]:
        """The places of the bits that are set, of which `first` are left out, up to the one before `last`."""
        stored, found = members.to_bytes(self.size * len(self.sliced), "little"), list[int]()
        counted = 0
        for start in range(0, len(stored), BYTES):
            bits = int.from_bytes(stored[start : start + BYTES], "little")
            size = bits.bit_count()
            if counted + size > first:
                offsets = offsets_of(bits)[max(0, first - counted) : last - counted]
                found += [8 * start + offset for offset in offsets]
            counted += size
            if counted >= last:
                break
        return found
