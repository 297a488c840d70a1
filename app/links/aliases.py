"""Aliases: which are valid, how they are compared, and which link holds which."""

# see docs/decisions/2026-11-20-aliases.md
# see docs/decisions/2026-11-20-who-holds-an-alias.md
from __future__ import annotations

import datetime as dt
import secrets
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import regex
from sqlalchemy import Table, and_, bindparam, or_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import ReturningInsert

from app.core.clock import now
from app.core.database import UtcDateTime
from app.core.errors import AliasTaken
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.input.parsers import Rejected
from app.links.models import Alias, Link
from app.web.paths import is_reserved

TABLE: Table = Alias.__table__  # past the ORM, which makes an insert thrice as slow

MAX_LENGTH = 256  # after NFC
MAX_TYPED_LENGTH = 4 * MAX_LENGTH  # NFC shortens a text to no less than a quarter
HELD = dt.timedelta(days=30)

# without i l o and 0 1, which are read as one another
RANDOM_CHARACTERS = "abcdefghjkmnpqrstuvwxyz23456789"
RANDOM_LENGTH = 7
TRIES = 20

# An emoji with what may follow it: a skin tone, a selector; after a black flag the tags of a region's flag,
# which after anything else show nothing.
# Digits, # and * are emoji to Unicode, but only as the first half of a keycap. (UTS #51, ED-17)
AFTER = r"\p{Emoji_Modifier}|[\uFE0E\uFE0F]\u20E3?"
FLAG = r"\p{RI}\p{RI}|\U0001F3F4[\U000E0030-\U000E0039\U000E0061-\U000E007A]{3,6}\U000E007F"
KEYCAP = r"[0-9]\uFE0F\u20E3"
EMOJI = rf"(?:{FLAG}|{KEYCAP}|[\p{{Emoji}}--[0-9#*\p{{RI}}]](?:{AFTER})?)"
# some marks and letters are invisible: two aliases could look the same and have different destinations
NOT_AN_ALIAS = _l(
    "This may have letters, digits, emoji and - _ . ~ only, and / between them. No part starts with a dot."
)
INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}")
PLAIN = r"[[\p{L}\p{M}\p{Nd}\-_.~]--\p{Default_Ignorable_Code_Point}]"
SEGMENT = rf"(?!\.)(?>{EMOJI}(?:\u200D{EMOJI})*|{PLAIN})++"
# see docs/decisions/2026-11-22-slashes-in-aliases.md
ALIAS = regex.compile(rf"(?V1){SEGMENT}(?:/{SEGMENT})*+")


def key_of(alias: str) -> str:
    """The key by which an alias is stored: the same for every spelling that a visitor may type."""
    return unicodedata.normalize("NFC", alias).casefold()


def read_alias(text: str) -> str:
    """The text, if it is a valid alias. Raises Rejected."""
    plain = unicodedata.normalize("NFC", text[: MAX_TYPED_LENGTH + 1])
    if len(text) > MAX_TYPED_LENGTH or len(plain) > MAX_LENGTH:
        raise Rejected(_l("This may have at most %(most)s characters.", most=MAX_LENGTH), "too_long")
    if is_reserved(key_of(plain).partition("/")[0]):
        raise Rejected(_l("This alias is used by Waypost itself. Choose another one."), "reserved")
    if not ALIAS.fullmatch(plain):
        if INVISIBLE.search(plain):
            raise Rejected(_l("This contains an invisible character. Remove it."), "invisible")
        raise Rejected(NOT_AN_ALIAS, "alias")
    return text


def random_alias() -> str:
    drawn = secrets.randbelow(len(RANDOM_CHARACTERS) ** RANDOM_LENGTH)  # once: this is done within a write
    alias = ""
    for _ in range(RANDOM_LENGTH):
        drawn, place = divmod(drawn, len(RANDOM_CHARACTERS))
        alias += RANDOM_CHARACTERS[place]
    return alias


def is_like_random(text: str) -> bool:
    """Whether a text may be what `random_alias` returns."""
    return len(text) == RANDOM_LENGTH and set(text) <= set(RANDOM_CHARACTERS)


def is_unheld(domain_id: int, alias: str) -> bool:
    """Whether `claim_random` would give this alias now."""
    return db.session.get(Alias, (domain_id, key_of(alias))) is None


def free_random_alias(domain_id: int) -> str:
    """A random alias that is free now. (Of 27 thousand million, one that is taken hardly comes up.)"""
    drawn = (random_alias() for _ in range(TRIES))
    return next((alias for alias in drawn if is_unheld(domain_id, alias)), random_alias())


def is_taken(domain_id: int, alias: str, workspace_id: int, link_id: int | None) -> bool:
    """Whether `claim` would fail now. An alias that the link `link_id` itself has is not taken."""
    held = db.session.get(Alias, (domain_id, key_of(alias)))
    if held is None or (link_id is not None and held.link_id == link_id):
        return False
    is_over = held.workspace_id == workspace_id or held.held_until is None or held.held_until <= now()
    return held.link_id is not None or not is_over


def claim(link: Link) -> None:
    """Give the link its alias. Raises AliasTaken if another link has it, or another user's link had it until
    less than 30 days ago.

    The primary key decides, also between two concurrent claims: the second waits for the first's commit.
    """
    wanted = statements(db.session.get_bind().dialect.name).claim
    if db.session.scalar(wanted, {**claimed(link), "now": now()}) is None:
        raise AliasTaken()


def claim_those_free(links: Sequence[Link]) -> set[int]:
    """Give each link its alias, if it is free. The aliases must differ. Returns the ids of the links that
    got theirs."""
    wanted = statements(db.session.get_bind().dialect.name).claim
    moment = now()
    rows = [{**claimed(link), "now": moment} for link in links]
    return set(db.session.connection().scalars(wanted, rows)) if rows else set()


def claim_random(links: Sequence[Link]) -> None:
    """Give each link its alias, which was drawn at random; an alias that is taken is drawn again."""
    wanted = statements(db.session.get_bind().dialect.name).claim_free
    for _ in range(TRIES):
        given = set(db.session.connection().scalars(wanted, [claimed(link) for link in links]))
        links = [link for link in links if link.id not in given]
        if not links:
            return
        for link in links:
            link.url = random_alias()
    raise AliasTaken()


def release(link: Link) -> None:
    """Release the link's alias. For 30 days only its owner may use it again."""
    mine = update(Alias).where(Alias.link_id == link.id).values(link_id=None, held_until=now() + HELD)
    db.session.execute(mine, execution_options={"synchronize_session": False})


def claimed(link: Link) -> dict[str, Any]:
    return {
        "domain_id": link.domain_id or 0,
        "key": key_of(link.url),
        "link_id": link.id,
        "workspace_id": link.workspace_id,
        "held_until": None,
    }


class Statements(NamedTuple):
    """Each returns the ids of the links that got their alias. Built once: building takes a while."""

    claim: ReturningInsert[Any]
    claim_free: ReturningInsert[Any]


@cache
def statements(dialect: str) -> Statements:
    """INSERT … ON CONFLICT. Both databases have it, but SQLAlchemy has a construct for each."""
    insert: Any = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[dialect](TABLE)
    is_over = or_(TABLE.c.held_until.is_(None), TABLE.c.held_until <= bindparam("now", type_=UtcDateTime()))
    claim = insert.on_conflict_do_update(
        index_elements=[TABLE.c.domain_id, TABLE.c.key],
        set_={name: insert.excluded[name] for name in ("link_id", "workspace_id", "held_until")},
        where=and_(
            TABLE.c.link_id.is_(None), or_(TABLE.c.workspace_id == insert.excluded.workspace_id, is_over)
        ),
    )
    return Statements(
        claim=claim.returning(TABLE.c.link_id),
        claim_free=insert.on_conflict_do_nothing().returning(TABLE.c.link_id),
    )
