"""How does a link go, and how does it come back?

Deleting puts it into the trash: the row goes, and its short address is held for its owner. Clicks know it
by an id that nobody else gets, so they are its own again when it comes back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import delete as delete_from
from sqlalchemy import select, update

from app.clock import now
from app.database import reread
from app.domains.models import Domain
from app.errors import Invalid
from app.extensions import db
from app.links import replaced, uploads
from app.links.aliases import HELD, claim, claim_random, key_of
from app.links.attached import own_rows, refuse_unusable
from app.links.history import PICTURES, note
from app.links.models import Alias, Link, LinkChange
from app.links.moments import expect
from app.links.replan import place_of, replan
from app.trash import services as trash
from app.trash.models import Trashed

KIND = Link.__tablename__


def delete(link: Link) -> str:
    """Into the trash; its alias is held for its owner. Raises NotThere when it is gone already.

    Returns the batch, by which it can be put back.
    """
    reread(db.session, link)
    return delete_many(link.user_id, [link.id])[0]


def delete_many(user_id: int, ids: Collection[int], batch: str | None = None) -> tuple[str, set[int]]:
    """The same for many of a user's in a few statements: the batch, and which ids are not there."""
    there = read_anew(user_id, ids)
    batch = trash.throw_away(there, described, batch)
    missing = set(ids) - {link.id for link in there}
    for link in there:
        for name in PICTURES:
            replaced.put_away(link.id, getattr(link, name))
    if there:
        note(there, "deleted")
        take_away(there)
    return batch, missing


def erase(user_id: int, ids: Collection[int]) -> None:
    """For good, with pictures and history: nobody can put them back."""
    there = read_anew(user_id, ids)
    for link in there:
        for name in PICTURES:
            uploads.discard(getattr(link, name))
    if there:
        forget_history([link.id for link in there])
        replaced.forget([link.id for link in there])
        take_away(there)


def read_anew(user_id: int, ids: Collection[int]) -> Sequence[Link]:
    """Those that are still there, as they are now, and kept from being changed."""
    rows = (
        select(Link)
        .where(Link.user_id == user_id, Link.id.in_(ids))
        .order_by(Link.id)
        .with_for_update(of=Link)
    )
    return db.session.scalars(rows.execution_options(populate_existing=True)).all()


def take_away(links: Sequence[Link]) -> None:
    """Past the ORM, which would read everything that hangs on each; the database lets it fall by itself."""
    ids = [link.id for link in links]
    replan(*map(place_of, links))
    held = update(Alias).where(Alias.link_id.in_(ids)).values(link_id=None, held_until=now() + HELD)
    for statement in (held, delete_from(Link).where(Link.id.in_(ids))):
        db.session.execute(statement, execution_options={"synchronize_session": False})
    for link in links:
        db.session.expunge(link)


def described(link: Link) -> tuple[str, str]:
    return link.url, link.location_url


def restore(trashed: Trashed, changes: dict[str, Any] | None = None) -> Link:
    """Have it again under its alias, or under what `changes` says: `url` (empty: a random one), `domain_id`.

    Raises AliasTaken where another link has that alias now, Invalid where its domain is not usable.
    """
    changes = changes or {}
    row = trashed.rows[KIND][0] | {k: v for k, v in changes.items() if k == "domain_id" or (k == "url" and v)}
    require_domain(row)
    trashed.rows = {**trashed.rows, KIND: [row]}
    link: Link = trash.put_back([trashed], Link)[0]
    if "url" in changes and not changes["url"]:
        claim_random([link])
    else:
        claim(link)
    bring_pictures_back(link)
    expect(link, {})
    replan(place_of(link))
    note([link], "restored")
    db.session.flush()
    return link


def bring_pictures_back(link: Link) -> None:
    for name in PICTURES:
        replaced.bring_back(link.id, getattr(link, name))


def require_domain(row: dict[str, Any]) -> None:
    if row["domain_id"]:
        refuse_unusable(own_rows(row["user_id"], Domain, [row["domain_id"]], "domain_id")[0])


def restore_many(trashed: Sequence[Trashed]) -> tuple[list[Link], list[Trashed]]:
    """Those that can come back as they were, and those that need another address and stay in the trash."""
    stuck = {one.id for one in trashed if is_taken(one) or is_homeless(one)}
    links = trash.put_back([one for one in trashed if one.id not in stuck], Link)
    for link in links:
        claim(link)
        bring_pictures_back(link)
        expect(link, {})
    if links:
        replan(*map(place_of, links))
        note(links, "restored")
    return links, [one for one in trashed if one.id in stuck]


def is_taken(one: Trashed) -> bool:
    row = one.rows[KIND][0]
    mine = Alias.user_id == one.user_id
    found = db.session.scalar(
        select(Alias.link_id.is_not(None) | ~mine).where(
            Alias.domain_id == (row["domain_id"] or 0), Alias.key == key_of(row["url"])
        )
    )
    return bool(found)


def is_homeless(one: Trashed) -> bool:
    try:
        require_domain(one.rows[KIND][0])
    except Invalid:
        return True
    return False


def forget_history(ids: Sequence[int]) -> None:
    gone = delete_from(LinkChange).where(LinkChange.link_id.in_(ids))
    db.session.execute(gone, execution_options={"synchronize_session": False})
