"""Creates, changes and reverts links. The caller (a view or the API) commits or rolls back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.accounts.access import Access
from app.core.clock import now
from app.core.database import reread
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.links import previous_uploads, uploads
from app.links.aliases import claim, claim_random, random_alias, release
from app.links.favicons import request_icons
from app.links.history import PICTURES, changes_back_to, fields_of, note, note_change
from app.links.insertion import insert_links
from app.links.invalidation import invalidate, place_of
from app.links.models import Link
from app.links.relations import attach, attach_first, attachments
from app.links.removal import delete as delete
from app.links.removal import delete_many as delete_many
from app.links.removal import restore as restore
from app.links.removal import restore_many as restore_many
from app.links.schedule_events import dates_of, expect

NOT_COLUMNS = frozenset(
    {"url", "proposed_url", "pixels_ids", "email_reports", "tags", "location_urls", *PICTURES}
)


def create(access: Access, changes: dict[str, Any]) -> Link:
    """Create a link, with a random alias unless `changes` has one. Raises AliasTaken, Invalid.

    `proposed_url` in `changes`: a random alias that was shown before. Another is drawn if it is taken now.
    """
    return make(access, changes, [changes["location_url"]])[0]


def create_bulk(access: Access, changes: dict[str, Any]) -> list[Link]:
    """Create a link for each of `location_urls`, in their order, with random aliases; all else is shared."""
    return make(access, {**changes, "url": None, "proposed_url": None}, changes["location_urls"])


def make(access: Access, changes: dict[str, Any], destinations: Sequence[str]) -> list[Link]:
    found = attachments(access.workspace_id, changes)
    columns = {**columns_of(changes), **access.row_columns}
    columns["password_version"] = int(bool(changes.get("password_hash")))
    links = [Link(**{**columns, "location_url": destination}) for destination in destinations]
    for link in links:
        link.url = changes.get("url") or changes.get("proposed_url") or random_alias()
        settle(link)
        expect(link, {})
    keep_pictures(links, changes)
    insert_links(links)
    for link in links:
        attach_first(link, found, changes)
    if changes.get("url"):
        claim(links[0])
    else:
        claim_random(links)
    note(links, "created")
    request_icons(access.workspace_id, access.user.id, destinations)
    db.session.flush()
    return links  # misses are never cached, so there is no compiled link to invalidate


def update(link: Link, changes: dict[str, Any], kind: str = "changed") -> Link:
    """Change what `changes` names. Raises AliasTaken, Invalid, and NotFound if the link is gone.

    `kind`: the kind of change in the history.
    """
    reread(db.session, link)
    if not changes:
        return link  # nothing was edited, so `last_datetime` stays
    before, dates, told = place_of(link), dates_of(link), fields_of(link, changes)
    attach(link, attachments(link.workspace_id, changes), changes)
    for name in PICTURES:
        if name in changes:
            previous_uploads.put_away(link.id, getattr(link, name))
    keep_pictures([link], changes)
    if "password_hash" in changes and (link.password_hash or changes["password_hash"]):
        link.password_version += 1
    for name, value in columns_of(changes).items():
        setattr(link, name, value)
    settle(link)
    expect(link, dates)
    move(link, before, changes)
    link.last_datetime = now()
    db.session.flush()
    if "location_url" in changes:
        request_icons(link.workspace_id, link.user_id, [link.location_url])
    note_change(link, told, changes, kind)
    return link


def revert(link: Link, change_id: int) -> Link:
    """Make the link as it was right after one of its changes. Raises as `update` does."""
    return update(link, changes_back_to(link, change_id), "reverted")


def move(link: Link, before: tuple[int, str], changes: dict[str, Any]) -> None:
    """Give the link the alias and domain that result, and hold the old ones for its owner."""
    link.url = changes.get("url") or link.url
    if "url" in changes and not changes["url"]:
        release(link)
        link.url = random_alias()
        claim_random([link])
    elif place_of(link) != before:
        release(link)
        claim(link)
    invalidate(before, place_of(link))


def carried_over(link: Link) -> dict[str, Any]:
    """What a duplicate takes from a link that no form can send: its password and its pictures."""
    return {name: getattr(link, name) for name in ("password_hash", *PICTURES) if getattr(link, name)}


def columns_of(changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in changes.items() if name not in NOT_COLUMNS}


def keep_pictures(links: Sequence[Link], changes: dict[str, Any]) -> None:
    """Store new pictures. Each link has a file of its own, deleted with it; the content is written once."""
    for name in PICTURES:
        if name in changes:
            first = uploads.keep_any(changes[name])
            for link in links:
                setattr(link, name, first if link is links[0] or not first else uploads.keep_again(first))


def settle(link: Link) -> None:
    """Check the schedule again: the form checked it against an older state of the link. Raises Invalid."""
    if not link.schedule:
        link.start_date = link.end_date = None
    if link.start_date and link.end_date and link.end_date <= link.start_date:
        raise Invalid(FieldError(_l("The end must be after the start."), "order", "end_date"))
