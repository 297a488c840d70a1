"""What does a row of the list tell of a link?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any
from urllib.parse import urlsplit

from flask import current_app, url_for
from sqlalchemy import exists, select
from sqlalchemy.orm import joinedload, selectinload

from app import clock, own_addresses
from app.accounts.models import User
from app.addresses import split_address
from app.dashboard.guard import user
from app.dashboard.small_lines import small_lines
from app.dashboard.states import marks_of, state_of
from app.extensions import db
from app.links.checks import failing
from app.links.clicks import clicks_of
from app.links.models import Link
from app.projects.models import SAMPLES, Project

# what a row can show or leave out
COLUMNS = {
    "title": "Title",
    "rules": "Rules",
    "pixels": "Pixels",
    "tags": "Tags",
    "project": "Project",
    "created": "Created",
    "clicks": "Clicks",
}
# what a row's menu leads to where there is such a page: its endpoint, key, icon and words
PLACES: tuple[tuple[str, str, str, str], ...] = (
    ("links_qr", "q", "qr-code", "QR code"),
    ("links_statistics", "s", "chart-no-axes-column", "Statistics"),
    ("links_try", "v", "eye", "Try as visitor"),
)


def beside_rows(rows: Sequence[Link]) -> dict[str, Any]:
    ids = [row.id for row in rows]
    load_around(ids)
    return {
        "clicks": clicks_of(ids),
        "small_lines": small_lines(ids),
        "now": clock.now(),
        "failing": failing(db.session, ids),
        "state_of": state_of,
        "marks_of": marks_of,
        "short_address": short_address,
        "short_url": short_url,
        "host_of": host_of,
        "places": places,
        "list_address": cache(partial(url_for, "dashboard.links")),  # many rows have the same chips
        "has_samples": has_samples(user()),
    }


def has_samples(owner: User) -> bool:
    """Is there sample data to get rid of?"""
    mine = exists().where(Project.user_id == owner.id, Project.name == SAMPLES)
    return bool(db.session.scalar(select(mine)))


def places(id: int) -> list[tuple[str, str, str, str]]:
    """Of each page about a link: its address, key, icon and words."""
    return [
        (url_for(f"dashboard.{endpoint}", id=id), key, icon, words)
        for endpoint, key, icon, words in PLACES
        if f"dashboard.{endpoint}" in current_app.view_functions
    ]


def load_around(ids: Sequence[int]) -> None:
    """What the rows show of other tables, in a few queries for all of them."""
    around = [
        selectinload(Link.tag_rows),
        selectinload(Link.pixels),
        selectinload(Link.handlers),
        joinedload(Link.domain),
        joinedload(Link.project),
    ]
    found = select(Link).where(Link.id.in_(ids)).options(*around).execution_options(populate_existing=True)
    db.session.scalars(found).all()


def short_url(link: Link) -> str:
    domain = link.domain and f"{link.domain.scheme}{link.domain.host}"
    return own_addresses.short_url(link.url, domain)


def short_address(link: Link) -> str:
    """As people read it: without the scheme, and with every letter as it was typed."""
    return f"{link.domain.host if link.domain else own_host()}/{link.url}"


def own_host() -> str:
    return urlsplit(own_addresses.site()).netloc


def host_of(link: Link) -> str:
    """The destination's host, for the letter and colour that a row is told by."""
    return (split_address(link.location_url).hostname or "?").removeprefix("www.")
