"""Bulk creation of links that have nothing in common."""

# see docs/decisions/2026-11-20-many-links-at-once.md
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete

from app.accounts.access import Access
from app.core.extensions import db
from app.links import uploads
from app.links.aliases import claim_random, claim_those_free, key_of, random_alias
from app.links.favicons import request_icons
from app.links.history import PICTURES, note
from app.links.insertion import insert_links
from app.links.models import Link
from app.links.relations import attach_first, attachments
from app.links.schedule_events import expect
from app.links.services import columns_of, keep_pictures, settle

Changes = dict[str, Any]


def create_each(access: Access, wanted: Sequence[Changes]) -> list[Link | None]:
    """A link for each of `wanted`, in their order; None if its alias is taken.

    Raises Invalid as `services.create` does; then none is created.
    """
    chosen = first_of_each_place(wanted)
    found = {number: attachments(access.workspace_id, wanted[number]) for number in chosen}
    links = {number: built(access, wanted[number]) for number in chosen}
    insert_links(list(links.values()))
    for number, link in links.items():
        attach_first(link, found[number], wanted[number])
    db.session.flush()
    named = [links[number] for number in chosen if wanted[number].get("url")]
    lost = {link.id for link in named} - claim_those_free(named)
    drop([link for link in named if link.id in lost])
    if others := [links[number] for number in chosen if not wanted[number].get("url")]:
        claim_random(others)
    made = {number: link for number, link in links.items() if link.id not in lost}
    if made:
        note(list(made.values()), "created")
        request_icons(access.workspace_id, access.user.id, [link.location_url for link in made.values()])
    db.session.flush()
    return [made.get(number) for number in range(len(wanted))]


def first_of_each_place(wanted: Sequence[Changes]) -> list[int]:
    """The indexes of `wanted`, without those whose domain and alias an earlier one has."""
    found, seen = [], set()
    for number, changes in enumerate(wanted):
        place = changes.get("domain_id") or 0, key_of(changes.get("url") or "")
        if not place[1] or place not in seen:
            found.append(number)
            seen.add(place)
    return found


def built(access: Access, changes: Changes) -> Link:
    link = Link(**columns_of(changes), **access.row_columns, url=changes.get("url") or random_alias())
    settle(link)
    expect(link, {})
    keep_pictures([link], changes)
    return link


def drop(links: Sequence[Link]) -> None:
    """Delete the new links that got no alias, with their pictures. Nothing refers to them yet."""
    for link in links:
        for name in PICTURES:
            uploads.discard(getattr(link, name))
    if links:
        db.session.execute(delete(Link).where(Link.id.in_([link.id for link in links])))
