"""Searches of links by the signatures of blocks: which blocks can have a link with some texts."""

# see docs/decisions/2026-11-26-bitmaps-of-links.md
from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, func, not_, or_, select

from app.core.extensions import db
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
    is_sqlite = db.session.connection().dialect.name == "sqlite"
    lacking = read_lacking if is_sqlite else select_lacking
    return numbers - lacking(bitmaps, workspace_id, telling)


def read_lacking(bitmaps: ListBitmaps, workspace_id: int, wanted: Sequence[WantedText]) -> set[int]:
    """The blocks that can't have such a link."""
    return {
        number
        for _, number, signature in read_stored(bitmaps, workspace_id, [SIGNATURE])
        if not all(number in one.other or may_have(signature, one.hashes) for one in wanted)
    }


def select_lacking(bitmaps: ListBitmaps, workspace_id: int, wanted: Sequence[WantedText]) -> set[int]:
    """The same by PostgreSQL, which reads the bytes that tell, not 64 MB of 16,000,000 links."""
    table = bitmaps.table.c
    may_have_all = [
        or_(table.block.in_(one.other), and_(*(bit_of(table.bits, hash_) == 1 for hash_ in one.hashes)))
        for one in wanted
    ]
    signatures = table.workspace_id == workspace_id, table.name == SIGNATURE, func.length(table.bits) > 0
    return set(db.session.scalars(select(table.block).where(*signatures, not_(and_(*may_have_all)))))


def bit_of(bits: ColumnElement[bytes], place: int) -> ColumnElement[int]:
    return func.get_bit(func.substring(bits, (place >> 3) + 1, 1), place & 7)
