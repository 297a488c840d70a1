"""Simulates a visit: what a simulated visitor would get from a link, and why.

It calls `resolve` with the same compiled link as for real visitors. It counts nothing and changes nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.core.clock import now
from app.domains.models import Domain
from app.i18n.messages import lazy_gettext as _l
from app.links.aliases import key_of
from app.links.models import Link
from app.redirects.compiled_link import CompiledLink
from app.redirects.context import RedirectContext
from app.redirects.location import encode_location
from app.redirects.outcomes import Outcome, Step
from app.redirects.presentation import HAND_HELD
from app.redirects.resolve import resolve
from app.redirects.simulation.visitor import SimulatedVisitor, VisitorProfile
from app.redirects.state import LinkState

DELIVERED = frozenset({"redirect", "app", "pixels", "consent", "cloak"})


@dataclass(frozen=True)
class Explanation:
    """The answer, the simulated visitor, and the moment of the visit."""

    outcome: Outcome
    visitor: SimulatedVisitor
    at: dt.datetime


def explain(redirect_context: RedirectContext, link: Link, profile: VisitorProfile) -> Explanation:
    """Simulate a visit of a link. Raises StoreDown."""
    visitor = SimulatedVisitor(profile, redirect_context.geolocation.find, redirect_context.today.current)
    at = profile.at or now()
    compiled_link = plan_of(redirect_context, link)
    facts = LinkState(redirect_context.clicks(compiled_link) if compiled_link else None, profile.unlocked)
    outcome = resolve(compiled_link, visitor, at, facts)
    outcome = explain_outcome(outcome, compiled_link, visitor) if compiled_link else unserved(outcome)
    return Explanation(of_domain(redirect_context, link.domain, outcome), visitor, at)


def plan_of(redirect_context: RedirectContext, link: Link) -> CompiledLink | None:
    """The link compiled as stored now, past the cache; None if no host serves it."""
    domain = link.domain
    if domain and not (domain.is_verified and domain.is_enabled):
        return None
    return redirect_context.compiled_links.load(link.domain_id or 0, key_of(link.url))


def unserved(outcome: Outcome) -> Outcome:
    return replace(outcome, steps=[Step("link", True, _l("its domain is not verified, or is turned off"))])


def of_domain(redirect_context: RedirectContext, domain: Domain | None, outcome: Outcome) -> Outcome:
    """The outcome with the domain's own redirect for links that are not found, if it has one."""
    if outcome.outcome != "not_found" or not domain or not (domain.is_verified and domain.is_enabled):
        return outcome
    wanted = domain.custom_not_found_url
    location = encode_location(wanted, redirect_context.settings.destination_schemes) if wanted else None
    return replace(outcome, status=302, location=location) if location else outcome


def explain_outcome(outcome: Outcome, compiled_link: CompiledLink, visitor: SimulatedVisitor) -> Outcome:
    """Add to the last step what did not apply. Real visits leave that out, to save time."""
    *before, last = outcome.steps
    if last.step != "delivery":
        return outcome
    more = "; ".join(map(str, (last.detail, *passed_over(outcome, compiled_link, visitor))))
    return replace(outcome, steps=[*before, last._replace(detail=more)])


def passed_over(outcome: Outcome, compiled_link: CompiledLink, visitor: SimulatedVisitor) -> Iterator[str]:
    """The presentations that come before the chosen one, and why each did not apply."""
    if outcome.outcome not in DELIVERED - {"cloak", "consent"}:
        return
    yield _l("only web addresses can be framed") if compiled_link.cloaking_is_enabled else _l("no cloaking")
    if outcome.outcome != "app":
        yield why_no_app(compiled_link, visitor)
    if outcome.outcome == "redirect":
        yield why_no_pixels(compiled_link, visitor)


def why_no_app(compiled_link: CompiledLink, visitor: SimulatedVisitor) -> str:
    if not compiled_link.app_linking_is_enabled:
        return _l("no app linking")
    if visitor.is_bot:
        return _l("a bot has no apps")
    if visitor.device_type not in HAND_HELD:
        if not visitor.device_type:
            return _l("apps open on phones and tablets, and this is an unknown device")
        return _l("apps open on phones and tablets, and this is %(device)s", device=visitor.device_type)
    if not visitor.os_name:
        return _l("no known app opens this address on an unknown system")
    return _l("no known app opens this address on %(system)s", system=visitor.os_name)


def why_no_pixels(compiled_link: CompiledLink, visitor: SimulatedVisitor) -> str:
    if not compiled_link.has_pixels:
        return _l("no pixels")
    return _l("pixels do not fire for bots") if visitor.is_bot else _l("pixels do not fire")
