"""The search of the link list: every word must be found, in any order and in any place.

Places are alias, destination, title, notes and tags. A pasted short link finds its link, whatever is
written before or behind it. (The API's `search` takes its text as one literal.)
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from sqlalchemy import ColumnElement, and_, or_, select

from app.core.extensions import db
from app.dashboard.links.rows import own_host
from app.dashboard.shared.workspace import workspace_id
from app.domains.models import Domain
from app.input.params import QueryParams
from app.links import lists
from app.links.aliases import key_of
from app.links.models import Alias, Link

MAX_WORDS = 8  # each costs the database a look at all rows; the rest are taken as one text
# a host, perhaps with a port, and an alias; `+` asks for the destination
SHORT_ADDRESS = re.compile(r"(?:https?://)?([^\s/?#@]+)/([^\s?#]+?)[+/]?(?:[?#]\S*)?", re.IGNORECASE)


def find_words(text: str, params: QueryParams) -> ColumnElement[bool] | None:
    """Links that have every word of the text. With `search_by` the API's search, of the whole text."""
    if params.get("search_by"):
        return lists.by_index(text, lists.searched(text, params))
    words = text.split(maxsplit=MAX_WORDS - 1)
    return and_(*(find_word(word, params) for word in words)) if words else None


def find_word(word: str, params: QueryParams) -> ColumnElement[bool]:
    found = lists.by_index(word, lists.searched(word, params), lists.noted(word))
    link_id = id_of_short_address(word)
    return found if link_id is None else or_(found, Link.id == link_id)


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
