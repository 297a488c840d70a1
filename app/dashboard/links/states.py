"""Words for the state of a link and for its options."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import NamedTuple

from sqlalchemy import ColumnElement, SQLColumnExpression, and_, or_

from app.i18n.messages import lazy_gettext as _l
from app.links.clicks import CLICKS
from app.links.destination_checks import IS_FAILING
from app.links.models import Link


class Badge(NamedTuple):
    """A word, and the tone of its colour (`.badge.good` … in app.css)."""

    word: str
    tone: str

    @property
    def needs_look(self) -> bool:
        """Whether a list shows it: what is as it should be needs no badge in each row."""
        return self.tone != "good"


OFF = Badge(_l("Off"), "")
SCHEDULED = Badge(_l("Scheduled"), "info")
ENDED = Badge(_l("Ended"), "warn")
LIMIT = Badge(_l("Limit reached"), "warn")
FAILING = Badge(_l("Failing"), "bad")
ACTIVE = Badge(_l("Active"), "good")
STATES: Mapping[str, Badge] = {
    "active": ACTIVE,
    "failing": FAILING,
    "scheduled": SCHEDULED,
    "ended": ENDED,
    "limit": LIMIT,
    "off": OFF,
}


def state_of(link: Link, clicks: int, now: dt.datetime, is_failing: bool = False) -> Badge:
    """The state of a link. Checked in the order of the redirect: start inclusive, end exclusive.

    An active link counts as failing while its destination fails (`links.destination_checks.failing`).
    """
    if not link.is_enabled:
        return OFF
    if link.schedule and link.start_date and now < link.start_date:
        return SCHEDULED
    if link.schedule and link.end_date and now >= link.end_date:
        return ENDED
    if link.clicks_limit and clicks >= link.clicks_limit:
        return LIMIT
    return FAILING if is_failing else ACTIVE


def state_conditions(now: dt.datetime) -> Mapping[str, ColumnElement[bool]]:
    """The same as `state_of` in SQL, for each of the keys of STATES.

    A link is in the first state whose condition it meets. The opposites are spelled out: of a negated
    condition SQLite computes all parts, and would read the clicks of links without a limit.
    """
    reasons = {
        "off": (~Link.is_enabled, Link.is_enabled),
        "scheduled": (
            Link.schedule & (Link.start_date > now),
            or_(~Link.schedule, Link.start_date.is_(None), Link.start_date <= now),
        ),
        "ended": (
            Link.schedule & (Link.end_date <= now),
            or_(~Link.schedule, Link.end_date.is_(None), Link.end_date > now),
        ),
        "limit": (
            Link.clicks_limit.is_not(None) & (Link.clicks_limit <= CLICKS),
            or_(Link.clicks_limit.is_(None), Link.clicks_limit > CLICKS),
        ),
        "failing": (IS_FAILING, ~IS_FAILING),
    }
    found, others = {}, list[SQLColumnExpression[bool]]()
    for name, (reason, opposite) in reasons.items():
        found[name] = and_(*others, reason)
        others.append(opposite)
    return found | {"active": and_(*others)}


class Mark(NamedTuple):
    """One option of a link that is on: an icon and its words."""

    icon: str
    words: str


MARKS: list[tuple[Callable[[Link], object], Mark]] = [
    (lambda link: link.password_hash, Mark("lock", _l("Password"))),
    (lambda link: link.sensitive_content, Mark("eye-off", _l("Warning page"))),
    (lambda link: link.targeting_type, Mark("split", _l("Targeted"))),
    (lambda link: link.schedule, Mark("calendar-clock", _l("Schedule"))),
    (lambda link: link.clicks_limit, Mark("timer", _l("Click limit"))),
    (lambda link: link.cloaking_is_enabled, Mark("palette", _l("Cloaked"))),
    (lambda link: link.app_linking_is_enabled, Mark("smartphone", _l("Opens apps"))),
    (lambda link: link.handlers, Mark("bell", _l("Sends notifications"))),
]


def marks_of(link: Link) -> list[Mark]:
    return [mark for applies, mark in MARKS if applies(link)]
