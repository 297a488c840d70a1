"""The addresses that links had at a place of the feed: a click is told with the same one for ever.

They are not stored with clicks. A link has the address that it has now, unless a later entry, or a draft that
has no place yet, says what it was before: changes of addresses are rare, and clicks are many.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from math import inf
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Table, or_, select

from app.core.database import AnySession
from app.domains.models import Domain
from app.events.drafts import DRAFTS, LinkAddress
from app.events.entries import ENTRIES
from app.events.types import DELETED, MOVED, PURGED, RESTORED
from app.links.models import Link

LINKS, DOMAINS = cast("Table", Link.__table__), cast("Table", Domain.__table__)


class Move(NamedTuple):
    """A place after which a link's address is another one. A draft's place is after all others."""

    position: float
    type: str
    before: LinkAddress


class OriginMove(NamedTuple):
    """A place after which the links of a domain have another scheme or host."""

    position: float
    before: str | None
    after: str | None


class LinkAddresses:
    """The addresses of some links at all places from `position` on. Read after the entries of these places.

    What a link has now is read first, then drafts, then entries: a draft goes to the entries before it goes
    from the drafts, so no change is missed between the two.
    """

    def __init__(self, session: AnySession, workspace_id: int, ids: Collection[int], position: int) -> None:
        self.now = read_present(session, ids)
        self.moves: dict[int, list[Move]] = defaultdict(list)
        drafts = read_drafts(session, workspace_id, ids)
        self.read_moves(session, ENTRIES.c.link_id.in_(ids), ENTRIES.c.position > position)
        # where a link was gone, the entry before says what its address was, wherever that is
        back = {move.link_id for move in drafts if move.type == RESTORED} | {
            link_id for link_id, moves in self.moves.items() if any(move.type == RESTORED for move in moves)
        }
        gone = [id_ for id_ in ids if id_ not in self.now or id_ in back]
        if gone:
            self.read_moves(session, ENTRIES.c.link_id.in_(gone), ENTRIES.c.position <= position)
        self.origins = [*read_origin_moves(session, workspace_id, position)]
        for draft in drafts:
            if draft.type == MOVED:
                self.origins.append(OriginMove(inf, draft.origin_before, draft.origin))
            else:
                before = LinkAddress(draft.url_before, draft.origin_before)
                self.moves[draft.link_id].append(Move(inf, draft.type, before))

    def read_moves(self, session: AnySession, *wanted: ColumnElement[bool]) -> None:
        columns = (ENTRIES.c.link_id, ENTRIES.c.position, ENTRIES.c.type)
        before = (ENTRIES.c.url_before, ENTRIES.c.origin_before)
        moves = select(*columns, *before).where(*wanted, ENTRIES.c.url_before.is_not(None))
        for link_id, place, type_, url, origin in session.execute(moves):
            self.moves[link_id].append(Move(place, type_, LinkAddress(url, origin)))
        for found in self.moves.values():
            found.sort(key=lambda move: move.position)

    def find(self, link_id: int, position: int) -> LinkAddress | None:
        """The address of a link at a place; None for one that was gone before there was a feed, or is
        purged."""
        moves = self.moves.get(link_id, [])
        number = bisect_right([move.position for move in moves], position)
        if number < len(moves) and moves[number].type != RESTORED:
            return self.with_origin(moves[number].before, position, moves[number].position)
        if number == len(moves) and link_id in self.now:
            return self.with_origin(self.now[link_id], position, inf)
        before = moves[number - 1] if number else None  # the link was gone at that place
        if before is not None and before.type == DELETED:
            return self.with_origin(before.before, position, before.position)
        return None

    def with_origin(self, address: LinkAddress, position: float, until: float) -> LinkAddress:
        """The address as it was at a place, where it is known as of `until`."""
        url, origin = address
        for move in reversed(self.origins):
            if position < move.position and (move.position < until or until == inf) and move.after == origin:
                origin = move.before
        return LinkAddress(url, origin)


def read_present(session: AnySession, ids: Iterable[int]) -> dict[int, LinkAddress]:
    origin = (DOMAINS.c.scheme + DOMAINS.c.host).label("origin")
    found = select(LINKS.c.id, LINKS.c.url, origin).select_from(LINKS.outerjoin(DOMAINS))
    rows = session.execute(found.where(LINKS.c.id.in_(ids)))
    return {id_: LinkAddress(url, of_domain) for id_, url, of_domain in rows}


def read_drafts(session: AnySession, workspace_id: int, ids: Collection[int]) -> Sequence[Any]:
    """What has no place yet, of these links and of any domain, in its order."""
    wanted = or_(DRAFTS.c.link_id.in_(ids), DRAFTS.c.type == MOVED)
    mine = DRAFTS.c.workspace_id == workspace_id, DRAFTS.c.type != PURGED, wanted
    return session.execute(select(DRAFTS).where(*mine).order_by(DRAFTS.c.id)).all()


def read_origin_moves(session: AnySession, workspace_id: int, position: int) -> Iterable[OriginMove]:
    mine = ENTRIES.c.workspace_id == workspace_id, ENTRIES.c.type == MOVED, ENTRIES.c.position > position
    columns = (ENTRIES.c.position, ENTRIES.c.origin_before, ENTRIES.c.url_before)
    found = session.execute(select(*columns).where(*mine).order_by(ENTRIES.c.position))
    return [OriginMove(*row) for row in found]
