"""Which sites' icons are wanted: a new link or destination notes its site in the same transaction."""

# see docs/decisions/2026-11-24-metadata-of-destinations.md
from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, select
from sqlalchemy.dialects import postgresql, sqlite

from app.accounts.models import User
from app.core.clock import now
from app.core.extensions import db
from app.core.leases import precise_now
from app.core.urls import split_address
from app.links.models import Favicon

MAX_SITES = 1000  # of one workspace; links to further ones have no icon
MAX_SITE = 300  # characters
FRESH = dt.timedelta(days=7)  # an older icon is asked for again when another link is made
PORTS = {"http": 80, "https": 443}


def site_of(url: str) -> str:
    """Scheme, host and port of a destination; "" where it is no web address."""
    try:
        parts = split_address(url)
        scheme, host, port = parts.scheme.lower(), parts.hostname or "", parts.port
    except ValueError:
        return ""
    if scheme not in PORTS or not host:
        return ""
    host = f"[{host}]" if ":" in host else host.lower()
    site = f"{scheme}://{host}" + (f":{port}" if port not in {None, PORTS[scheme]} else "")
    return site if len(site) <= MAX_SITE else ""


def select_noted(condition: ColumnElement[bool]) -> Select[str, dt.datetime | None, dt.datetime]:
    """Which of a workspace's sites are noted. Without any row the user wants no icons."""
    here = and_(Favicon.workspace_id == bindparam("workspace_id"), condition)
    noted = select(Favicon.site, Favicon.due, Favicon.datetime).select_from(User).outerjoin(Favicon, here)
    return noted.where(User.id == bindparam("user_id"), User.fetches_favicons)


# each new link asks for its site, while it holds the lock of writes
NOTED_SITE = select_noted(Favicon.site == bindparam("site"))
NOTED_SITES = select_noted(Favicon.site.in_(bindparam("sites", expanding=True)))


def request_icons(workspace_id: int, user_id: int, destinations: Iterable[str]) -> None:
    """Note the sites of new destinations of this user's links, in the same transaction. Those noted already
    are asked again only if that was long ago."""
    sites = sorted({site for url in destinations if (site := site_of(url))})
    if not sites or are_settled(workspace_id, user_id, sites):
        return
    mine = Favicon.workspace_id == workspace_id
    # in the order of ids, or two transactions could each wait for a row of the other
    known = db.session.scalars(
        select(Favicon)
        .where(mine, Favicon.site.in_(sites))
        .order_by(Favicon.id)
        .with_for_update(skip_locked=True)
    ).all()
    for row in known:
        if row.due is None and row.datetime < now() - FRESH:
            row.due, row.planned, row.tries = precise_now(), precise_now(), 0
    db.session.flush()
    new = set(sites) - {row.site for row in known}
    if new:
        count = db.session.scalar(select(func.count()).select_from(Favicon).where(mine)) or 0
        add(workspace_id, user_id, sorted(new)[: max(0, MAX_SITES - count)])


def are_settled(workspace_id: int, user_id: int, sites: Sequence[str]) -> bool:
    """Whether there is nothing to note: all sites were noted lately, or the user wants no icons."""
    whose = {"workspace_id": workspace_id, "user_id": user_id}
    found: Sequence[Any]
    if len(sites) == 1:
        found = db.session.connection().execute(NOTED_SITE, {**whose, "site": sites[0]}).all()
    else:
        found = db.session.connection().execute(NOTED_SITES, {**whose, "sites": sites}).all()
    oldest = now() - FRESH
    noted = {row.site for row in found if row.site and (row.due or row.datetime >= oldest)}
    return not found or noted.issuperset(sites)


def add(workspace_id: int, user_id: int, sites: Sequence[str]) -> None:
    if not sites:
        return
    dialect = db.session.get_bind().dialect.name
    into: Any = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[dialect](Favicon)
    moment = precise_now()
    fresh = {"tries": 0, "due": moment, "planned": moment, "datetime": now()}
    rows = [{"workspace_id": workspace_id, "user_id": user_id, "site": site, **fresh} for site in sites]
    db.session.execute(into.on_conflict_do_nothing(), rows)
