"""The search of the link list: every word must be found, in any order and in any place.

Places are alias, destination, title, notes and tags. A pasted short link finds its link, whatever is
written before or behind it. (The API's `search` takes its text as one literal.)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Set
from urllib.parse import unquote

from sqlalchemy import ColumnElement, and_, or_, select

from app.core.extensions import db
from app.dashboard.links.rows import own_host
from app.dashboard.shared.workspace import workspace_id
from app.domains.models import Domain
from app.input.bitmaps import ListBitmaps
from app.input.blocks import BLOCK_BITS
from app.input.params import QueryParams
from app.links import lists
from app.links.aliases import key_of
from app.links.bitmaps.searches import WantedText, find_blocks_with
from app.links.models import Alias, Link

MAX_WORDS = 8  # each costs the database a look at all rows; the rest are taken as one text
# a host, perhaps with a port, and an alias; `+` asks for the destination
SHORT_ADDRESS = re.compile(r"(?:https?://)?([^\s/?#@]+)/([^\s?#]+?)[+/]?(?:[?#]\S*)?", re.IGNORECASE)


def find_words(text: str, params: QueryParams) -> ColumnElement[bool] | None:
    """Links that have every word of the text. With `search_by` the API's search, of the whole text."""
    if params.get("search_by"):
        return lists.searched(text, params)
    words = words_of(text)
    return and_(*(find_word(word, params) for word in words)) if words else None


def find_blocks(bitmaps: ListBitmaps, workspace_id: int, text: str, numbers: Set[int]) -> Set[int]:
    """Those of these blocks that can have a link with every word: all, if the words are too short to tell."""
    wanted = [WantedText.of(word, block_of_short_address(word)) for word in words_of(text)]
    return find_blocks_with(bitmaps, workspace_id, wanted, numbers)


def words_of(text: str) -> list[str]:
    return text.split(maxsplit=MAX_WORDS - 1)


def block_of_short_address(text: str) -> Collection[int]:
    link_id = id_of_short_address(text)
    return () if link_id is None else (link_id >> BLOCK_BITS,)


def find_word(word: str, params: QueryParams) -> ColumnElement[bool]:
    found = [lists.searched(word, params), lists.noted(word)]
    if (link_id := id_of_short_address(word)) is not None:
        found.append(Link.id == link_id)
    return or_(*found)


def id_of_short_address(text: str) -> int | None:
    """The user's link with this short link, on this instance's own host or on a domain of the user."""
    match = SHORT_ADDRESS.fullmatch(text)
    if not match:
        return None
    host, alias = match[1].casefold(), unquote(match[2])
    mine = Alias.workspace_id == workspace_id()
    if host == own_host().casefold():
        on_host = Alias.domain_id == 0
    else:
        domain = select(Domain.id).where(Domain.workspace_id == workspace_id(), Domain.host == host)
        on_host = Alias.domain_id.in_(domain)
    return db.session.scalar(select(Alias.link_id).where(mine, on_host, Alias.key == key_of(alias)))
