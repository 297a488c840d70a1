"""What may a short address be, how is it known again, and who gets it?"""

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

from app.clock import now
from app.database import UtcDateTime
from app.errors import AliasTaken
from app.extensions import db
from app.links.models import Alias, Link
from app.reading import Rejected
from app.reserved import is_reserved

TABLE: Table = Alias.__table__  # past the ORM, which makes an insert thrice as slow

MOST = 256  # after NFC
MOST_TYPED = 4 * MOST  # NFC shortens a text to no less than a quarter
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
# some marks and letters show nothing: two addresses that look the same would lead to different places
INVISIBLE = regex.compile(r"\p{Default_Ignorable_Code_Point}")
PLAIN = r"[[\p{L}\p{M}\p{Nd}\-_.~]--\p{Default_Ignorable_Code_Point}]"
ALIAS = regex.compile(rf"(?V1)(?!\.)(?>{EMOJI}(?:\u200D{EMOJI})*|{PLAIN})++")


def key_of(alias: str) -> str:
    """What an alias is known by: the same for every spelling that a visitor may type."""
    return unicodedata.normalize("NFC", alias).casefold()


def read_alias(text: str) -> str:
    """The text, when it may be an alias; else Rejected."""
    plain = unicodedata.normalize("NFC", text[: MOST_TYPED + 1])
    if len(text) > MOST_TYPED or len(plain) > MOST:
        raise Rejected(f"This may have at most {MOST} characters.", "too_long")
    if is_reserved(key_of(plain)):
        raise Rejected("This address is Waypost's own. Choose another one.", "reserved")
    if not ALIAS.fullmatch(plain):
        if INVISIBLE.search(plain):
            raise Rejected("This has a character that shows nothing. Remove it.", "invisible")
        raise Rejected(
            "This may have letters, digits, emoji and - _ . ~ only, and not start with a dot.", "alias"
        )
    return text


def random_alias() -> str:
    return "".join(secrets.choice(RANDOM_CHARACTERS) for _ in range(RANDOM_LENGTH))


def is_taken(domain_id: int, alias: str, user_id: int, link_id: int | None) -> bool:
    """Whether `claim` would fail by now; `link_id` is whose it may be."""
    held = db.session.get(Alias, (domain_id, key_of(alias)))
    if held is None or (link_id is not None and held.link_id == link_id):
        return False
    is_over = held.user_id == user_id or held.held_until is None or held.held_until <= now()
    return held.link_id is not None or not is_over


def claim(link: Link) -> None:
    """Give the link its alias. Raises AliasTaken when it is another's, or was until less than 30 days ago.

    The primary key decides, also between two who ask at once: the second waits for the first's commit.
    """
    wanted = statements(db.session.get_bind().dialect.name).claim
    if db.session.scalar(wanted, {**claimed(link), "now": now()}) is None:
        raise AliasTaken()


def claim_those_free(links: Sequence[Link]) -> set[int]:
    """Give each link its alias, no two of which are the same; the ids of those that could have it."""
    wanted = statements(db.session.get_bind().dialect.name).claim
    moment = now()
    rows = [{**claimed(link), "now": moment} for link in links]
    return set(db.session.connection().scalars(wanted, rows)) if rows else set()


def claim_random(links: Sequence[Link]) -> None:
    """Give each link its alias, which was drawn at random; one that somebody has already is drawn again."""
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
    """Take the link's alias from it. For 30 days only its owner may have it again."""
    mine = update(Alias).where(Alias.link_id == link.id).values(link_id=None, held_until=now() + HELD)
    db.session.execute(mine, execution_options={"synchronize_session": False})


def claimed(link: Link) -> dict[str, Any]:
    return {
        "domain_id": link.domain_id or 0,
        "key": key_of(link.url),
        "link_id": link.id,
        "user_id": link.user_id,
        "held_until": None,
    }


class Statements(NamedTuple):
    """Each gives back the ids of the links that got what they asked for. Made once: making takes a while."""

    claim: ReturningInsert[Any]
    claim_free: ReturningInsert[Any]


@cache
def statements(dialect: str) -> Statements:
    """INSERT … ON CONFLICT, which both databases know and SQLAlchemy has for each apart."""
    insert: Any = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[dialect](TABLE)
    is_over = or_(TABLE.c.held_until.is_(None), TABLE.c.held_until <= bindparam("now", type_=UtcDateTime()))
    claim = insert.on_conflict_do_update(
        index_elements=[TABLE.c.domain_id, TABLE.c.key],
        set_={name: insert.excluded[name] for name in ("link_id", "user_id", "held_until")},
        where=and_(TABLE.c.link_id.is_(None), or_(TABLE.c.user_id == insert.excluded.user_id, is_over)),
    )
    return Statements(
        claim=claim.returning(TABLE.c.link_id),
        claim_free=insert.on_conflict_do_nothing().returning(TABLE.c.link_id),
    )
