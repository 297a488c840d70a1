"""3 RESOLVED: what does this visitor get from this link, now, and why?

`resolve` is pure: values in, a value out. The steps stand in one table, in the contract's order; the first
that gives an outcome ends the way, and each leaves a line for whoever asks why.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from app.visits import outcomes
from app.visits.address import wire, with_query
from app.visits.delivery import delivery
from app.visits.facts import NOTHING_KNOWN, PASSWORD, WARNING, Facts
from app.visits.outcomes import Outcome, Step
from app.visits.plan import Plan
from app.visits.visitor import Visitor


@dataclass(slots=True)
class Way:
    """A visit on its way through the steps: what is asked about, and the destination as it is by now."""

    plan: Plan
    visitor: Visitor
    now: dt.datetime
    facts: Facts = NOTHING_KNOWN
    destination: str = ""
    location: str = ""
    steps: list[Step] = field(default_factory=list)


class Answer(NamedTuple):
    """What one step found: whether it applied, in which words, and the outcome if it is the last."""

    matched: bool
    detail: str
    outcome: Outcome | None = None


# what most links have none of; made once, for each costs a visitor more than the question
ENABLED = Answer(False, "the link is enabled")
NO_START, NO_END = Answer(False, "no start date"), Answer(False, "no end date")
NO_LIMIT = Answer(False, "no limit")
NO_PASSWORD, NO_WARNING = Answer(False, "no password"), Answer(False, "no warning")
NO_TARGETING = Answer(False, "no targeting")
ADDED, UNCHANGED = Answer(True, "parameters added"), Answer(False, "unchanged")


def resolve(plan: Plan | None, visitor: Visitor, now: dt.datetime, facts: Facts = NOTHING_KNOWN) -> Outcome:
    """The answer for one visit. `plan` is None when there is no such link. No input, no output."""
    if plan is None:
        return replace(outcomes.not_found(), steps=[Step("link", True, "no such link")])
    way = Way(plan, visitor, now, facts)
    for name, take in STEPS:
        matched, detail, outcome = take(way)
        way.steps.append(Step(name, matched, detail))
        if outcome is not None:
            outcome.steps.extend(way.steps)
            return outcome
    raise AssertionError("the last step always has an outcome")


def is_disabled(way: Way) -> Answer:
    if way.plan.is_enabled:
        return ENABLED
    return Answer(True, "the link is disabled", outcomes.not_found())


def is_not_yet(way: Way) -> Answer:
    """The start is inclusive."""
    start = way.plan.start_date
    if start is None:
        return NO_START
    if way.now >= start:
        return Answer(False, f"started {start:%Y-%m-%d %H:%M:%S}")
    return Answer(True, f"starts {start:%Y-%m-%d %H:%M:%S}", outcomes.not_yet())


def has_ended(way: Way) -> Answer:
    """The end is exclusive."""
    end = way.plan.end_date
    if end is None:
        return NO_END
    if way.now < end:
        return Answer(False, f"ends {end:%Y-%m-%d %H:%M:%S}")
    return Answer(True, f"ended {end:%Y-%m-%d %H:%M:%S}", outcomes.expired(expiration(way.plan)))


def expiration(plan: Plan) -> str | None:
    """Gets no UTM and no forwarded query."""
    return wire(plan.expiration_url, plan.schemes) if plan.expiration_url else None


def is_used_up(way: Way) -> Answer:
    """Who does not know how many clicks are used lets nobody through."""
    limit, clicks = way.plan.clicks_limit, way.facts.clicks
    if limit is None:
        return NO_LIMIT
    if clicks is None:
        return Answer(True, f"{limit} clicks, and nobody knows how many are used", outcomes.unavailable())
    if clicks < limit:
        return Answer(False, f"{clicks} of {limit} clicks are used")
    return Answer(True, f"all {limit} clicks are used", outcomes.limit(expiration(way.plan)))


def is_protected(way: Way) -> Answer:
    """A bot is asked also with the right password: it must not learn what is behind."""
    if way.plan.password_hash is None:
        return NO_PASSWORD
    if PASSWORD in way.facts.unlocked and not way.visitor.is_bot:
        return Answer(False, "the password was given")
    return Answer(True, "a password is asked for", outcomes.password())


def is_sensitive(way: Way) -> Answer:
    if not way.plan.sensitive_content:
        return NO_WARNING
    if WARNING in way.facts.unlocked and not way.visitor.is_bot:
        return Answer(False, "the warning was read")
    return Answer(True, "a warning comes first", outcomes.warning())


def is_withheld(way: Way) -> Answer:
    """Who uses up no click of a limited link does not learn where it leads."""
    if way.plan.clicks_limit is None:
        return NO_LIMIT
    if way.visitor.is_head or way.visitor.is_bot:
        return Answer(True, "a bot or HEAD does not learn where a limited link leads", outcomes.preview())
    return Answer(False, "a person, who uses up a click")


def choose_destination(way: Way) -> Answer:
    """The first fitting pair's, else the link's own."""
    plan = way.plan
    way.destination = plan.location_url
    if plan.targets is None:
        return NO_TARGETING
    chosen, detail = plan.targets.choose(way.visitor, plan.id, plan.user_id)
    if chosen is not None:
        way.destination = chosen
    return Answer(chosen is not None, f"{plan.targeting_type}: {detail}")


def add_query(way: Way) -> Answer:
    """The link's own parameters, the visitor's where they are forwarded; then as a header carries it."""
    forwarded = way.visitor.query if way.plan.forward_query_parameters_is_enabled else ""
    changed = with_query(way.destination, way.plan.utm, forwarded)
    location = wire(changed, way.plan.schemes)
    if location is None:
        return Answer(True, "the destination's scheme or host is not allowed", outcomes.not_found())
    way.location = location
    return UNCHANGED if changed == way.destination else ADDED


def deliver(way: Way) -> Answer:
    """The last step: how the visitor gets to the destination."""
    outcome, why = delivery(way.plan, way.visitor, way.location, way.destination)
    return Answer(True, why, outcome)


STEPS: tuple[tuple[str, Callable[[Way], Answer]], ...] = (
    ("is_enabled", is_disabled),
    ("start_date", is_not_yet),
    ("end_date", has_ended),
    ("clicks_limit", is_used_up),
    ("password", is_protected),
    ("sensitive_content", is_sensitive),
    ("preview", is_withheld),
    ("targeting_type", choose_destination),
    ("query", add_query),
    ("delivery", deliver),
)
