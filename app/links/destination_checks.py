"""Checks whether the destinations of links still answer, and raises an event when that changes.

A check sends `HEAD`, and `GET` if that fails. A destination counts as failing after three failures in a row.
A server that only refuses programs (401, 403, 429 …) is up. Servers in private networks are not asked.
"""

# see docs/decisions/2026-11-21-failing-links.md
from __future__ import annotations

import datetime as dt
import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, delete, exists, func, insert, or_, select, update
from sqlalchemy.orm import Session, aliased

from app.accounts.models import User, Workspace
from app.core.clock import now
from app.core.database import AnySession, begin_write
from app.core.leases import is_due, precise_now
from app.i18n.messages import lazy_gettext as _l
from app.links.models import DestinationCheck, Link, link_notification_handler
from app.net import http as net_http
from app.net.dial import TOO_SLOW, Deadline
from app.net.http import NoAnswer
from app.net.networks import Network
from app.notifications.events import raise_failing, raise_recovered
from app.notifications.http_result import reason_of
from app.notifications.models import NotificationHandler

FAILURES = 3
USUAL, SOON = dt.timedelta(minutes=30), dt.timedelta(minutes=5)
JITTER = 0.2
HOPS = 10
IS_THERE = frozenset({401, 403, 405, 406, 407, 429, 451})
HEADERS = {"user-agent": "Mozilla/5.0 (compatible; Waypost checks a link)", "accept": "text/html,*/*;q=0.8"}
BATCH_SIZE = 1000


class NotOurs(Exception):
    """The destination, or one that it redirects to, is in a private network; so nothing is known of it."""


def problem(url: str, allowed: Sequence[Network] = ()) -> str | None:
    """What is wrong with the destination, in words; None if nothing is. Raises NotOurs."""
    return problem_by("HEAD", url, allowed) and problem_by("GET", url, allowed)


def problem_by(method: str, url: str, allowed: Sequence[Network]) -> str | None:
    """The same by one method. Follows redirects; each is a new outbound request with all its checks, and all
    share the time of one."""
    deadline = Deadline(net_http.SECONDS)
    try:
        for _ in range(HOPS):
            answer = net_http.request(
                method, url, headers=HEADERS, allowed=allowed, limit=1, seconds=deadline.left()
            )
            target = net_http.redirect_target(url, answer)
            if target is None:
                is_good = answer.status < 400 or answer.status in IS_THERE
                return None if is_good else reason_of(answer.status)
            url = target
    except TimeoutError:
        return TOO_SLOW
    except NoAnswer as silent:
        if silent.code == "private_address":
            raise NotOurs from silent
        return silent.reason
    return _l("It redirects too many times.")


# --- which links

OTHER = aliased(Link)
#: links whose destination is failing (their owner was notified) and has not been changed since
FAILED = (
    select(DestinationCheck.link_id)
    .join(OTHER, OTHER.id == DestinationCheck.link_id)
    .where(DestinationCheck.failing_since.is_not(None), DestinationCheck.url == OTHER.location_url)
)
IS_FAILING = Link.id.in_(FAILED)


class Fault(NamedTuple):
    """What is wrong with a destination, since when, and when it was last checked."""

    since: dt.datetime
    reason: str | None
    checked: dt.datetime | None


def failing(session: AnySession, ids: Collection[int]) -> Mapping[int, Fault]:
    """The fault of each of these links whose destination is failing, by link id."""
    columns = DestinationCheck.failing_since, DestinationCheck.reason, DestinationCheck.checked_datetime
    found = FAILED.add_columns(*columns).where(DestinationCheck.link_id.in_(ids))
    return {id_: Fault(since, *last) for id_, since, *last in session.execute(found) if since}


def wanted() -> ColumnElement[bool]:
    """Links to check: enabled and not ended, with an http(s) destination and an enabled handler, and whose
    maker wants checks."""
    table = link_notification_handler
    # begins with the links that have a handler: those of a long list are mostly without
    is_told = Link.id.in_(
        select(table.c.link_id).where(
            table.c.notification_handler_id == NotificationHandler.id, NotificationHandler.is_enabled
        )
    )
    wants = exists().where(User.id == Link.user_id, User.checks_destinations)
    is_here = exists().where(Workspace.id == Link.workspace_id, Workspace.deleted_datetime.is_(None))
    goes_on = or_(Link.end_date.is_(None), Link.end_date > now())
    return Link.is_enabled & Link.location_url.ilike("http%") & goes_on & wants & is_here & is_told


def enrol(session: Session) -> None:
    """Keep one row for each link to check, and no other; a changed destination starts over. Each call handles
    a batch of each kind; new rows are taken evenly from all owners."""
    mine = DestinationCheck.link_id == Link.id
    changed = (
        select(DestinationCheck.id, Link.location_url)
        .join(Link, mine)
        .where(DestinationCheck.url != Link.location_url)
    )
    others = session.execute(changed.limit(BATCH_SIZE)).all()
    unwanted = select(DestinationCheck.id).where(~exists().where(mine, wanted()))
    gone = session.scalars(unwanted.limit(BATCH_SIZE)).all()
    missing = select(Link.id, Link.location_url).where(wanted(), ~exists().where(mine))
    new = session.execute(missing.order_by(turn_of_owner(Link.id)).limit(BATCH_SIZE)).all()
    if not (others or gone or new):
        return
    begin_write(session)
    session.execute(delete(DestinationCheck).where(DestinationCheck.id.in_(gone)))
    fresh: dict[str, Any] = {"due": precise_now(), "planned": precise_now(), "failures": 0}
    fresh |= {"failing_since": None, "reason": None, "checked_datetime": None}
    for id_, url in others:
        session.execute(update(DestinationCheck).where(DestinationCheck.id == id_).values(url=url, **fresh))
    if new:
        there = set(session.scalars(select(Link.id).where(Link.id.in_([id_ for id_, _ in new]))))
        rows = [{"link_id": id_, "url": url, **fresh} for id_, url in new if id_ in there]
        session.execute(insert(DestinationCheck), rows)
    session.commit()


def turn_of_owner(order: Any) -> ColumnElement[int]:
    """A rank for round-robin between owners: each owner's first row, then each owner's second, and so on."""
    return func.row_number().over(partition_by=Link.workspace_id, order_by=order)


class Check(NamedTuple):
    """A destination to check, and the workspace of its link."""

    id: int
    url: str
    workspace_id: int

    @property
    def server(self) -> str:
        return net_http.server_of(self.url)


class Result(NamedTuple):
    """The result of a check: `problem` in words, None if all is well. `is_known` is false if the destination
    is in a private network."""

    id: int
    url: str
    problem: str | None
    is_known: bool = True


def due(session: Session, most: int, without: Collection[int] = ()) -> list[Check]:
    """The checks that are due, owners in turns, and each owner's longest due first."""
    rows = select(DestinationCheck.id, DestinationCheck.url, Link.workspace_id).join(
        Link, Link.id == DestinationCheck.link_id
    )
    mine = is_due(DestinationCheck, precise_now()), DestinationCheck.id.not_in(without)
    turns = turn_of_owner(DestinationCheck.due), DestinationCheck.due
    found = [Check(*row) for row in session.execute(rows.where(*mine).order_by(*turns).limit(most))]
    session.rollback()
    return found


def ask(check: Check, allowed: Sequence[Network]) -> Result:
    """Check a destination now. Takes at most twice the time of a request."""
    try:
        return Result(check.id, check.url, problem(check.url, allowed))
    except NotOurs:
        return Result(check.id, check.url, None, is_known=False)


# --- what came of it


def write_down(session: Session, results: Collection[Result]) -> None:
    begin_write(session)
    ids = [result.id for result in results]
    there = select(DestinationCheck).where(DestinationCheck.id.in_(ids)).order_by(DestinationCheck.id)
    rows = {row.id: row for row in session.scalars(there.with_for_update())}
    for result in results:
        row = rows.get(result.id)
        if row is not None and row.url == result.url:
            if result.is_known:
                learn(session, row, result.problem)
            row.planned = precise_now()
            row.due = row.planned + pause(row)
    session.commit()


def learn(session: Session, row: DestinationCheck, reason: str | None) -> None:
    """Store a result in its row. Raises an event when the destination begins to fail and when it recovers."""
    row.reason, row.checked_datetime = reason, now()
    if reason is None:
        if row.failing_since:
            raise_recovered(session, row.link_id, failing_since=row.failing_since)
        row.failures, row.failing_since = 0, None
        return
    row.failures += 1
    if row.failures >= FAILURES and row.failing_since is None:
        row.failing_since = now()
        raise_failing(session, row.link_id, reason=str(reason))


def pause(row: DestinationCheck) -> dt.timedelta:
    usual = SOON if 0 < row.failures < FAILURES else USUAL
    return usual * (1 + random.uniform(-JITTER, JITTER))  # noqa: S311  nothing secret
