"""What would a supposed visitor get from a link, and why?

By `resolve` itself, with the plan that real visitors get. It counts nothing and changes nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.clock import now
from app.links.aliases import key_of
from app.links.models import Link
from app.visits.address import wire
from app.visits.delivery import HAND_HELD
from app.visits.desk import Desk
from app.visits.facts import Facts
from app.visits.outcomes import Outcome, Step
from app.visits.plan import Plan
from app.visits.resolve import resolve
from app.visits.supposed import Supposed, SupposedVisitor

DELIVERED = frozenset({"redirect", "app", "pixels", "consent", "cloak"})


@dataclass(frozen=True)
class Explanation:
    """The answer, whose it would be, and when."""

    outcome: Outcome
    visitor: SupposedVisitor
    at: dt.datetime


def explained(desk: Desk, link: Link, supposed: Supposed) -> Explanation:
    """Raises StoreDown."""
    visitor = SupposedVisitor(supposed, desk.places.find, desk.today.current)
    at = supposed.at or now()
    plan = plan_of(desk, link)
    facts = Facts(desk.clicks(plan) if plan else None, supposed.unlocked)
    outcome = resolve(plan, visitor, at, facts)
    outcome = told(outcome, plan, visitor) if plan else unserved(outcome)
    return Explanation(of_domain(desk, link, outcome), visitor, at)


def plan_of(desk: Desk, link: Link) -> Plan | None:
    """As stored now, from no cache; None where no host serves the link."""
    domain = link.domain
    if domain and not (domain.is_verified and domain.is_enabled):
        return None
    return desk.plans.load(link.domain_id or 0, key_of(link.url))


def unserved(outcome: Outcome) -> Outcome:
    return replace(outcome, steps=[Step("link", True, "its domain is not verified, or is turned off")])


def of_domain(desk: Desk, link: Link, outcome: Outcome) -> Outcome:
    """Whose domain it is may send people elsewhere from where there is nothing."""
    domain = link.domain
    if outcome.outcome != "not_found" or not domain or not (domain.is_verified and domain.is_enabled):
        return outcome
    wanted = domain.custom_not_found_url
    location = wire(wanted, desk.settings.destination_schemes) if wanted else None
    return replace(outcome, status=302, location=location) if location else outcome


def told(outcome: Outcome, plan: Plan, visitor: SupposedVisitor) -> Outcome:
    """The last step in more words than visitors can be kept waiting for: also what did not apply."""
    *before, last = outcome.steps
    if last.step != "delivery":
        return outcome
    more = "; ".join([last.detail, *passed_over(outcome, plan, visitor)])
    return replace(outcome, steps=[*before, last._replace(detail=more)])


def passed_over(outcome: Outcome, plan: Plan, visitor: SupposedVisitor) -> Iterator[str]:
    """The ways of delivery that come before the one it is, and why each did not apply."""
    if outcome.outcome not in DELIVERED - {"cloak", "consent"}:
        return
    yield "only web addresses can be framed" if plan.cloaking_is_enabled else "no cloaking"
    if outcome.outcome != "app":
        yield why_no_app(plan, visitor)
    if outcome.outcome == "redirect":
        yield why_no_pixels(plan, visitor)


def why_no_app(plan: Plan, visitor: SupposedVisitor) -> str:
    if not plan.app_linking_is_enabled:
        return "no app linking"
    if visitor.is_bot:
        return "a bot has no apps"
    if visitor.device_type not in HAND_HELD:
        return f"apps open on phones and tablets, and this is {visitor.device_type or 'an unknown device'}"
    return f"no known app opens this address on {visitor.os_name or 'an unknown system'}"


def why_no_pixels(plan: Plan, visitor: SupposedVisitor) -> str:
    if not plan.has_pixels:
        return "no pixels"
    return "pixels do not fire for bots" if visitor.is_bot else "pixels do not fire"
