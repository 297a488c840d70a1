"""Does a link's destination still answer as one would like? Asked politely, and told when that changes.

`HEAD` first, and `GET` where that is not liked; three failures in a row are one. A server that only does not
let a program in (401, 403, 429 …) is there, and one in a private network is none of ours to ask.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, delete, exists, func, insert, or_, select, update
from sqlalchemy.orm import Session, aliased

from app.accounts.models import User
from app.claims import is_due, moment
from app.clock import now, written
from app.database import AnySession, begin_write
from app.links.models import LONGEST_REASON, DestinationCheck, Link, link_notification_handler
from app.notifications import outbound
from app.notifications.dial import TOO_SLOW, Deadline
from app.notifications.events import FAILING, RECOVERED, raise_event
from app.notifications.judging import reason_of
from app.notifications.models import NotificationHandler
from app.notifications.networks import Network
from app.notifications.outbound import NoAnswer

FAILURES = 3
USUAL, SOON = dt.timedelta(minutes=30), dt.timedelta(minutes=5)
JITTER = 0.2
HOPS = 10
IS_THERE = frozenset({401, 403, 405, 406, 407, 429, 451})
HEADERS = {"user-agent": "Mozilla/5.0 (compatible; Waypost checks a link)", "accept": "text/html,*/*;q=0.8"}
AT_ONCE = 1000


class NotOurs(Exception):
    """Where this leads, nothing of ours may ask; so nothing is known of it."""


def problem(url: str, allowed: Sequence[Network] = ()) -> str | None:
    """What is wrong with it, in words; None where nothing is. Raises NotOurs."""
    return problem_by("HEAD", url, allowed) and problem_by("GET", url, allowed)


def problem_by(method: str, url: str, allowed: Sequence[Network]) -> str | None:
    """Redirects are followed, each through the door as a new address, all within the time of one request."""
    deadline = Deadline(outbound.SECONDS)
    try:
        for _ in range(HOPS):
            answer = outbound.request(
                method, url, headers=HEADERS, allowed=allowed, limit=1, seconds=deadline.left()
            )
            target = outbound.redirect_target(url, answer)
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
    return "It redirects too many times."


# --- which links

OTHER = aliased(Link)
#: links whose destination has failed, as their owner was told, and is still the same
FAILED = (
    select(DestinationCheck.link_id)
    .join(OTHER, OTHER.id == DestinationCheck.link_id)
    .where(DestinationCheck.failing_since.is_not(None), DestinationCheck.url == OTHER.location_url)
)
IS_FAILING = Link.id.in_(FAILED)


class Fault(NamedTuple):
    """What is wrong with a destination, since when, and when that was seen last."""

    since: dt.datetime
    reason: str | None
    checked: dt.datetime | None


def failing(session: AnySession, ids: Collection[int]) -> Mapping[int, Fault]:
    """Those of the links whose destination fails."""
    columns = DestinationCheck.failing_since, DestinationCheck.reason, DestinationCheck.checked_datetime
    found = FAILED.add_columns(*columns).where(DestinationCheck.link_id.in_(ids))
    return {id_: Fault(since, *last) for id_, since, *last in session.execute(found) if since}


def wanted() -> ColumnElement[bool]:
    """Links that are on, whose owner wants it, and of whom somebody would be told."""
    table = link_notification_handler
    is_told = exists().where(
        table.c.link_id == Link.id,
        table.c.notification_handler_id == NotificationHandler.id,
        NotificationHandler.is_enabled,
    )
    wants = exists().where(User.id == Link.user_id, User.checks_destinations, User.deleted_datetime.is_(None))
    goes_on = or_(Link.end_date.is_(None), Link.end_date > now())
    return Link.is_enabled & Link.location_url.ilike("http%") & goes_on & wants & is_told


def enrol(session: Session) -> None:
    """Have a row for each of these links and no other; one with another destination begins anew. Some of each
    at a time, and of each owner alike."""
    mine = DestinationCheck.link_id == Link.id
    changed = (
        select(DestinationCheck.id, Link.location_url)
        .join(Link, mine)
        .where(DestinationCheck.url != Link.location_url)
    )
    others = session.execute(changed.limit(AT_ONCE)).all()
    unwanted = select(DestinationCheck.id).where(~exists().where(mine, wanted()))
    gone = session.scalars(unwanted.limit(AT_ONCE)).all()
    missing = select(Link.id, Link.location_url).where(wanted(), ~exists().where(mine))
    new = session.execute(missing.order_by(turn_of_owner(Link.id)).limit(AT_ONCE)).all()
    if not (others or gone or new):
        return
    begin_write(session)
    session.execute(delete(DestinationCheck).where(DestinationCheck.id.in_(gone)))
    fresh: dict[str, Any] = {"due": moment(), "planned": moment(), "failures": 0}
    fresh |= {"failing_since": None, "reason": None, "checked_datetime": None}
    for id_, url in others:
        session.execute(update(DestinationCheck).where(DestinationCheck.id == id_).values(url=url, **fresh))
    if new:
        there = set(session.scalars(select(Link.id).where(Link.id.in_([id_ for id_, _ in new]))))
        rows = [{"link_id": id_, "url": url, **fresh} for id_, url in new if id_ in there]
        session.execute(insert(DestinationCheck), rows)
    session.commit()


def turn_of_owner(order: Any) -> ColumnElement[int]:
    """Orders rows of links so that each owner has one of the first, one of the next, and so on."""
    return func.row_number().over(partition_by=Link.user_id, order_by=order)


class Check(NamedTuple):
    """A destination that is to be asked, and whose link it is of."""

    id: int
    url: str
    user_id: int

    @property
    def server(self) -> str:
        return outbound.server_of(self.url)


class Result(NamedTuple):
    """What a destination answered: `problem` in words, None where all is well. Nothing is known where nothing
    of ours may ask."""

    id: int
    url: str
    problem: str | None
    is_known: bool = True


def due(session: Session, most: int, without: Collection[int] = ()) -> list[Check]:
    """The checks whose time has come, owners in turns, and of each owner the longest due first."""
    rows = select(DestinationCheck.id, DestinationCheck.url, Link.user_id).join(
        Link, Link.id == DestinationCheck.link_id
    )
    mine = is_due(DestinationCheck, moment()), DestinationCheck.id.not_in(without)
    turns = turn_of_owner(DestinationCheck.due), DestinationCheck.due
    found = [Check(*row) for row in session.execute(rows.where(*mine).order_by(*turns).limit(most))]
    session.rollback()
    return found


def ask(check: Check, allowed: Sequence[Network]) -> Result:
    """What is known of a destination now. Takes twice the time of a request at most."""
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
            row.planned = moment()
            row.due = row.planned + pause(row)
    session.commit()


def learn(session: Session, row: DestinationCheck, reason: str | None) -> None:
    """An event where it begins to fail, and where it ends."""
    row.reason, row.checked_datetime = reason and reason[:LONGEST_REASON], now()
    if reason is None:
        if row.failing_since:
            raise_event(session, RECOVERED, row.link_id, failing_since=written(row.failing_since))
        row.failures, row.failing_since = 0, None
        return
    row.failures += 1
    if row.failures >= FAILURES and row.failing_since is None:
        row.failing_since = now()
        raise_event(session, FAILING, row.link_id, reason=reason)


def pause(row: DestinationCheck) -> dt.timedelta:
    usual = SOON if 0 < row.failures < FAILURES else USUAL
    return usual * (1 + random.uniform(-JITTER, JITTER))  # noqa: S311  nothing secret
