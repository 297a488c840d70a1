"""Searches of links by the signatures of blocks: which blocks can have a link with some texts."""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from typing import NamedTuple

from app.input.bitmaps import ListBitmaps, read_stored
from app.input.text_signatures import hashes_of, may_have
from app.links.search_text import folded

SIGNATURE = "signature"  # of the texts that a search looks in, notes and tags too


class WantedText(NamedTuple):
    """What a link must have: a text with parts of these hashes, or an id in one of the `other` blocks."""

    hashes: Collection[int]
    other: Collection[int] = ()

    @classmethod
    def of(cls, text: str, other: Collection[int] = ()) -> WantedText:
        return cls(hashes_of(folded(text).encode()), other)


def find_blocks(bitmaps: ListBitmaps, workspace_id: int, text: str, numbers: Set[int]) -> Set[int]:
    """Those of these blocks that can have a link with this text: all, if it is too short to tell."""
    return find_blocks_with(bitmaps, workspace_id, [WantedText.of(text)], numbers)


def find_blocks_with(
    bitmaps: ListBitmaps, workspace_id: int, wanted: Iterable[WantedText], numbers: Set[int]
) -> Set[int]:
    """The same for a link that has all that is wanted."""
    telling = [one for one in wanted if one.hashes]  # too short texts have no parts
    if not telling:
        return numbers
    stored = read_stored(bitmaps, workspace_id, [SIGNATURE])
    return numbers - {
        number
        for _, number, signature in stored
        if not all(number in one.other or may_have(signature, one.hashes) for one in telling)
    }
