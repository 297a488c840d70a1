"""Icons of the sites that links lead to: asked for once for each site of an owner, and stored.

A new link or destination notes its site in the same transaction. The worker fetches an icon from the site's
first page, never from the destination itself, and keeps a small PNG.
"""

# see docs/decisions/2026-11-24-metadata-of-destinations.md
from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urljoin

from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from app.accounts.models import User, Workspace
from app.core.clock import now
from app.core.database import begin_write
from app.core.error_boundary import ErrorBoundary
from app.core.errors import Busy
from app.core.extensions import db
from app.core.leases import claim, is_due, is_free, precise_now
from app.core.urls import split_address
from app.input.parsers import Rejected
from app.links import destination_page
from app.links.destination_page import DestinationPage, NotAPage, Refused
from app.links.models import Favicon, Link
from app.links.pictures import read_picture
from app.net import http as net_http
from app.net.dial import Deadline
from app.net.http import NoAnswer
from app.net.networks import Network

MAX_BYTES = 512 * 1024  # of an icon as the site sends it
MAX_STORED = 16 * 1024
SIZE = 32  # pixels, for 16 on a dense screen
SECONDS = 10.0  # for all requests to one site
MAX_ICONS = 2  # that are tried of those that a page names, beside /favicon.ico
TRIES = 3
PAUSES = (dt.timedelta(minutes=5), dt.timedelta(hours=6))
# nothing will come of another try
FINAL = frozenset({"private_address", "bad_address", "bad_redirect", "too_many_redirects"})
BATCH_SIZE = 1000

errors = ErrorBoundary("unused icons")


class PendingIcon(NamedTuple):
    """A site whose icon is to be fetched, and the workspace that wants it."""

    id: int
    workspace_id: int
    site: str

    @property
    def server(self) -> str:
        return net_http.server_of(self.site)


def due(session: Session, most: int, without: Collection[int] = ()) -> list[PendingIcon]:
    """The icons to fetch now: owners in turns, and each owner's longest due first."""
    moment = precise_now()
    turn = func.row_number().over(partition_by=Favicon.workspace_id, order_by=Favicon.due)
    found = (
        select(Favicon.id, Favicon.workspace_id, Favicon.site)
        .join(User, User.id == Favicon.user_id)
        .join(Workspace, Workspace.id == Favicon.workspace_id)
        .where(is_due(Favicon, moment), is_free(Favicon, moment), Favicon.tries < TRIES)
        .where(User.fetches_favicons, Workspace.deleted_datetime.is_(None), Favicon.id.not_in(without))
        .order_by(turn, Favicon.due)
        .limit(most)
    )
    rows = [PendingIcon(*row) for row in session.execute(found)]
    session.rollback()
    return rows


def take(session: Session, ids: Collection[int], who: str) -> set[int]:
    """Claim these for the worker `who`. Returns those that it got. Each is one try, also if it is killed."""
    begin_write(session)
    taken = claim(session, Favicon, ids, who, precise_now())
    session.execute(
        update(Favicon).where(Favicon.id.in_(taken)).values(tries=Favicon.tries + 1),
        execution_options={"synchronize_session": False},
    )
    session.commit()
    return set(taken)


# --- fetching


class FetchedIcon(NamedTuple):
    """The icon of a site as PNG; None without one. `is_final`: another try would find nothing else."""

    content: bytes | None
    is_final: bool = True


def fetch_icon(site: str, allowed: Sequence[Network]) -> FetchedIcon:
    """Fetch the icon of a site. Takes `SECONDS` at most, and what decoding takes."""
    deadline = Deadline(SECONDS)
    try:
        page = first_page(site, allowed, deadline)
    except NoAnswer as silent:
        return FetchedIcon(None, is_final=silent.code in FINAL)
    except TimeoutError:
        return FetchedIcon(None, is_final=False)
    for url in candidates(page):
        with suppress(NoAnswer, TimeoutError, Rejected):
            content = destination_page.download_picture(url, allowed, deadline, MAX_BYTES)
            if content:
                return FetchedIcon(small_png(content))
    return FetchedIcon(None)


def first_page(site: str, allowed: Sequence[Network], deadline: Deadline) -> DestinationPage:
    """The first page of a site; one that names nothing where it is no page."""
    try:
        return destination_page.read_page(f"{site}/", allowed, deadline)
    except (Refused, NotAPage):
        return DestinationPage(f"{site}/")


def candidates(page: DestinationPage) -> list[str]:
    """Where the icon may be, the best first: small ones that the page names, `/favicon.ico`, large ones."""
    small = sorted((one for one in page.icons if not one.is_touch), key=lambda one: one.size < SIZE)
    large = [one.url for one in page.icons if one.is_touch]
    usual = urljoin(page.url, "/favicon.ico")
    return list(dict.fromkeys([*(one.url for one in small[:MAX_ICONS]), usual, *large[:1]]))


def small_png(content: bytes) -> bytes:
    """The icon re-encoded. Raises Rejected where it is no picture, Busy where too many are being read."""
    return read_picture(content, may_be_icon=True, max_width=SIZE, most_bytes=MAX_STORED, as_png=True).content


def ask(site: str, allowed: Sequence[Network]) -> FetchedIcon:
    """As `fetch_icon`; while too many pictures are being read, it is to be tried again."""
    try:
        return fetch_icon(site, allowed)
    except Busy:
        return FetchedIcon(None, is_final=False)


def store(session: Session, id_: int, who: str, result: FetchedIcon) -> None:
    """Write down a result and give the row back, unless the lease was lost to another worker.

    A site that gave an icon before, and none now, keeps it.
    """
    begin_write(session)
    row = session.scalars(
        select(Favicon).where(Favicon.id == id_, Favicon.who == who).with_for_update()
    ).first()
    if row is None:
        session.rollback()
        return
    row.planned, row.lease, row.who, row.datetime = precise_now(), None, None, now()
    is_over = result.is_final or row.tries >= TRIES
    row.due = None if is_over else row.planned + PAUSES[min(row.tries, len(PAUSES)) - 1]
    if result.content is not None:
        row.content, row.digest = result.content, hashlib.sha256(result.content).hexdigest()[:16]
    session.commit()


def versions_of(workspace_id: int, links: Sequence[Link]) -> Mapping[int, str]:
    """Of each link whose site has an icon: the icon's id and digest, joined as its address has them."""
    sites = {link.id: site_of(link.location_url) for link in links}
    found = select(Favicon.site, Favicon.id, Favicon.digest).where(
        Favicon.workspace_id == workspace_id,
        Favicon.site.in_(set(sites.values())),
        Favicon.digest.is_not(None),
    )
    icons = {site: f"{id_}-{digest}" for site, id_, digest in db.session.execute(found)}
    return {link_id: icons[site] for link_id, site in sites.items() if site in icons}


# --- forgetting


def remove_unused(session: Session) -> int:
    """Remove icons of sites that no link of their workspace redirects to, and all of users who want none."""
    workspaces = session.scalars(select(Favicon.workspace_id).distinct()).all()
    session.rollback()
    count = 0
    for workspace_id in workspaces:
        with errors.attempt(workspace_id):
            count += remove_of(session, workspace_id, used_sites(session, workspace_id))
        session.rollback()
    return count


def used_sites(session: Session, workspace_id: int) -> set[str]:
    """The sites of all links of a workspace, read in pages: no read takes long."""
    found: set[str] = set()
    last = 0
    while True:
        some = (
            select(Link.id, Link.location_url)
            .where(Link.workspace_id == workspace_id, Link.id > last)
            .order_by(Link.id)
            .limit(BATCH_SIZE)
        )
        rows = session.execute(some).all()
        session.rollback()
        if not rows:
            return found
        last = rows[-1][0]
        found.update(site_of(url) for _, url in rows)


def remove_of(session: Session, workspace_id: int, used: Collection[str]) -> int:
    found = select(Favicon.id, Favicon.site, User.fetches_favicons).join(User, User.id == Favicon.user_id)
    rows = session.execute(found.where(Favicon.workspace_id == workspace_id))
    unused = [id_ for id_, site, is_wanted in rows if site not in used or not is_wanted]
    if not unused:
        return 0
    begin_write(session)
    session.execute(
        delete(Favicon).where(Favicon.id.in_(unused)), execution_options={"synchronize_session": False}
    )
    session.commit()
    return len(unused)


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
