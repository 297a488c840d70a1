"""QR masks: the chosen mask is the one that segno chooses by the standard's rules."""

from __future__ import annotations

import random

import pytest
import segno

from app.links.qr_masks import best

# with 10 and 300 letters a code is 25 and 73 modules wide; from 45 modules on it also names its version
LENGTHS = (1, 10, 20, 40, 60, 150, 300)


@pytest.mark.parametrize("error", ["m", "h"])
@pytest.mark.parametrize("length", LENGTHS)
def test_as_segno_chooses(length: int, error: str) -> None:
    chance = random.Random(length)
    for _ in range(12 if length < 100 else 3):
        text = "https://go.example/" + "".join(chance.choices("abcdefghijkmnpqrstuvwxyz23456789", k=length))
        code = segno.make(text, error=error, micro=False)
        assert best(text, error) == tuple(bytes(row) for row in code.matrix), text


def test_too_long() -> None:
    with pytest.raises(segno.DataOverflowError):
        best("x" * 4000, "m")
