"""Chooses the best of the eight masks of a QR code.

ISO/IEC 18004, 7.8.3, defines the penalties. segno computes them module by module, which took 2 of the 4
milliseconds of an answer. Here a whole code is one number, its rows one after the other, and a rule is a few
shifts of it. The mask is the one that segno chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import segno

MASKS = range(8)
GAP = 4  # light modules beside a finder-like pattern (third rule); outside of a code all modules are light
DIGITS, VALUES = bytes.maketrans(b"\0\1", b"01"), bytes.maketrans(b"01", b"\0\1")
Rows = Sequence[bytes | bytearray]


@dataclass(frozen=True)
class MaskChange:
    """The modules that differ from the first mask's, in rows and in columns; the same for every text."""

    rows: int
    columns: int


@dataclass(frozen=True)
class CodeFormat:
    """All codes of one size and one error correction."""

    turns: tuple[MaskChange, ...]
    scored: MaskChange  # the modules that the rules see


# by size and error correction: 160 at most, each with 8 numbers of some hundred bytes
KINDS: dict[tuple[int | str, str | None], CodeFormat] = {}


def best(text: str, error: str) -> tuple[bytes, ...]:
    """The modules of the code, 0 or 1 each. Raises segno.DataOverflowError."""
    first = segno.make(text, error=error, micro=False, mask=0)
    key = (first.version, first.error)
    if key not in KINDS:
        KINDS[key] = kind_of(first, [segno.make(text, error=error, micro=False, mask=mask) for mask in MASKS])
    kind, width = KINDS[key], len(first.matrix)
    rows, columns = number(first.matrix), number(turned(first.matrix))
    penalties = [
        penalty((rows ^ turn.rows) & kind.scored.rows, (columns ^ turn.columns) & kind.scored.columns, width)
        for turn in kind.turns
    ]
    return modules(rows ^ kind.turns[penalties.index(min(penalties))].rows, width)


def kind_of(first: segno.QRCode, codes: list[segno.QRCode]) -> CodeFormat:
    """Derived from one text with each mask: the codes differ in the mask, and in the modules that name it."""
    rows, columns = number(first.matrix), number(turned(first.matrix))
    turns = (MaskChange(rows ^ number(one.matrix), columns ^ number(turned(one.matrix))) for one in codes)
    seen = scored(len(first.matrix), int(first.version))
    return CodeFormat(tuple(turns), MaskChange(number(seen), number(turned(seen))))


def scored(width: int, version: int) -> list[bytes]:
    """All modules but those that name mask and version (7.9, 7.10): penalties are computed without these."""
    rows = [bytearray(b"\1" * width) for _ in range(width)]
    for at in (*range(6), 7, 8, *range(width - 8, width)):
        rows[8][at] = rows[at][8] = 0
    for at in range(6 if version >= 7 else 0):
        for beside in range(width - 11, width - 8):
            rows[at][beside] = rows[beside][at] = 0
    return [bytes(row) for row in rows]


def number(rows: Iterable[bytes | bytearray]) -> int:
    """The code as one number: a bit for each module, and `GAP` light ones after each row."""
    return int(b"".join(bytes(row) + bytes(GAP) for row in rows).translate(DIGITS), 2)


def turned(rows: Rows) -> list[bytes]:
    return [bytes(column) for column in zip(*rows, strict=True)]


def modules(found: int, width: int) -> tuple[bytes, ...]:
    wide = width + GAP
    digits = format(found, f"0{wide * width}b").encode().translate(VALUES)
    return tuple(digits[at : at + width] for at in range(0, wide * width, wide))


def penalty(rows: int, columns: int, width: int) -> int:
    """The penalty of a code by 7.8.3: the lower the better."""
    inner = beside(width)
    alike = ~(rows ^ rows >> 1) & inner
    found = runs(alike) + runs(~(columns ^ columns >> 1) & inner)
    found += 3 * (alike & alike >> width + GAP & ~(rows ^ rows >> width + GAP)).bit_count()
    found += 40 * (like_finders(rows) + like_finders(columns))
    return found + 10 * int(abs(rows.bit_count() / width**2 * 100 - 50) / 5)


@cache
def beside(width: int) -> int:
    """A bit for each module that has one to its left."""
    return number([bytes([0]) + bytes([1]) * (width - 1)] * width)


def runs(alike: int) -> int:
    """The first rule: five modules of one colour in a row cost 3, each further one costs 1 more."""
    five = alike & alike >> 1 & alike >> 2 & alike >> 3
    return five.bit_count() + 2 * (five & ~(five << 1)).bit_count()


def like_finders(dark: int) -> int:
    """How many patterns look like a finder mark: 1:1:3:1:1 with light modules on one side. Of two that share
    modules the left one counts."""
    light = ~dark
    found = dark & light >> 1 & dark >> 2 & dark >> 3 & dark >> 4 & light >> 5 & dark >> 6
    four = light & light >> 1 & light >> 2 & light >> 3
    counted = found & (four >> 7 | four << GAP)
    return (counted & ~(counted >> 4) & ~(counted >> 6)).bit_count()
