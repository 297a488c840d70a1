"""What does a visitor get where the answer is not a plain redirect?"""

from __future__ import annotations

import datetime as dt
import re
from http import HTTPStatus

from flask import Blueprint, Response, abort, current_app, request
from werkzeug.exceptions import SecurityError
from werkzeug.routing import BaseConverter

from app import error_pages
from app.errors import WaypostError
from app.failures import status_of
from app.headers import is_api
from app.public import answers, boxes, consent, deliveries, gates, here, leads, methods, policies
from app.public.answers import page, to
from app.public.cards import card_of
from app.public.here import desk, site
from app.reserved import RESERVED, RESERVED_START
from app.visits.address import wire
from app.visits.facts import Facts
from app.visits.outcomes import Outcome
from app.visits.paths import OPERATORS, first_segment
from app.visits.plan import Plan
from app.visits.resolve import resolve
from app.visits.store import StoreDown
from app.visits.visitor import Visitor

blueprint = Blueprint("public", __name__)

REDIRECTS = range(300, 400)
RETRY_SECONDS = "5"
# answers that no form changes
CLOSED = frozenset({"not_found", "not_yet", "expired", "limit", "unavailable"})


class AliasConverter(BaseConverter):
    """One path segment that is not reserved: those are left to the pages that have them."""

    regex = f"(?!(?i:{'|'.join(map(re.escape, sorted(RESERVED)))})$)(?!(?i:{re.escape(RESERVED_START)}))[^/]+"
    part_isolating = True


@blueprint.before_app_request
def serve_only_here() -> None:
    """A path of ours is answered only on the hosts that serve it: no dashboard on somebody's domain."""
    if request.path == "/healthz" or isinstance(request.routing_exception, SecurityError):
        return  # asks no database, not even for this; or is refused already, as `TRUSTED_HOSTS` says
    try:
        is_served = site().may_serve(request.path)
    except StoreDown:
        is_served = first_segment(request.path) in OPERATORS  # they tell what is down
        if not is_served:
            raise
    if not is_served:
        abort(404)


@blueprint.get("/")
def index() -> Response:
    """Of a domain: the address that its owner wants. Of our own hosts: the dashboard."""
    here, settings = site(), desk().settings
    if not here.domain_id:
        return to(f"{settings.dashboard_url or ''}/dashboard/")
    location = here.custom_index_url and wire(here.custom_index_url, settings.destination_schemes)
    return to(location) if location else page("not_found", 404)


@blueprint.get("/robots.txt")
def robots() -> Response:
    """Crawlers may ask for links, or they never learn from the answer that these are not to be listed."""
    return Response("User-agent: *\nDisallow: /dashboard/\nDisallow: /api/\n", mimetype="text/plain")


@methods.with_any(blueprint, "/<alias:alias>", strict_slashes=False)
def visit(alias: str) -> Response:  # noqa: ARG001  the path as sent says more than the alias as decoded
    plan = desk().plans.find(here.host(), request.environ["PATH_INFO"])
    if plan is None:
        return about_link()
    visitor = here.visitor()
    if visitor.is_prefetch:
        return page("prefetch", 503)
    if request.method in methods.SAFE and (ticket := boxes.asked(plan)):
        return boxes.document(plan, ticket)
    try:
        if request.method == "POST" and consent.was_answered(plan):
            return asked(plan)
    except WaypostError as error:
        return page("unreadable", status_of(error))
    facts = gates.facts_of(desk(), plan)
    outcome = resolve(plan, visitor, dt.datetime.now(dt.UTC), facts)
    if outcome.outcome != "not_found" and not methods.allows(plan):
        return methods.not_allowed(plan)
    if outcome.outcome not in CLOSED and request.method == "POST" and gates.has_form(plan):
        return passed(plan, visitor, outcome)
    if outcome.outcome in gates.GATES and not gates.is_own_spelling(plan):
        return gates.to_own_spelling(plan)
    return shown(plan, counted(plan, visitor, outcome, facts))


def about_link() -> Response:
    """Where a link leads, if that was asked; else there is nothing here."""
    path = leads.asked(request.environ["PATH_INFO"])
    if path is None:
        return nothing_here()
    if here.visitor().is_prefetch:
        return page("prefetch", 503)
    return (leads.found(path) if request.method in methods.SAFE else None) or nothing_here()


def counted(plan: Plan, visitor: Visitor, outcome: Outcome, facts: Facts) -> Outcome:
    """The outcome, its visit counted; or what there is when the last click has just gone to somebody else."""
    if not outcome.counts or request.method != "GET" or desk().admit(plan, visitor, outcome.destination):
        return outcome
    return resolve(plan, visitor, dt.datetime.now(dt.UTC), facts._replace(clicks=plan.clicks_limit))


def asked(plan: Plan) -> Response:
    """How a visitor goes on who was asked about pixels. A ticket that leads nobody on (any more) asks for the
    link once more, which counts anew."""
    passage = consent.find_passage(plan)
    if passage:
        # made before the ticket is used up: nobody loses a click to a page that can't be made
        answer = shown(plan, consent.resolve_answer(plan, passage))
        if desk().redeem(plan, passage):
            return answer
    return gates.again(plan, HTTPStatus.SEE_OTHER)


def passed(plan: Plan, visitor: Visitor, outcome: Outcome) -> Response:
    """What a gate's form gets: the way on, or the gate again and why."""
    try:
        return gates.passing(desk(), plan, visitor, outcome.outcome)
    except gates.Refused as refused:
        if refused.reason == "unreadable":
            return page("unreadable", refused.status)
        answer = gate(plan, "password", refused.status, refused.reason)
        if refused.seconds:
            answer.headers["Retry-After"] = str(refused.seconds)
        return answer


@methods.with_any(blueprint, "/<alias:alias>/<path:rest>")
def below(alias: str, rest: str) -> Response:  # noqa: ARG001
    """A link has no pages below it."""
    return nothing_here()


def shown(plan: Plan, outcome: Outcome) -> Response:
    """The answer that an outcome stands for."""
    if outcome.outcome == "not_found":
        return nothing_here()
    if outcome.location and outcome.status in REDIRECTS:
        return to(outcome.location, outcome.status)
    if outcome.outcome in deliveries.PAGES:
        return deliveries.PAGES[outcome.outcome](plan, outcome)
    if outcome.outcome in gates.GATES:
        return gate(plan, outcome.outcome, outcome.status)
    return page(outcome.outcome, outcome.status, link_title=title_of(plan))


def title_of(plan: Plan) -> str | None:
    """The link's own title. Nothing else of it, and nothing of its owner, shows on a page."""
    return (desk().plans.store.page(plan.id) or {}).get("title")


def nothing_here() -> Response:
    """The 404 page, or where the domain's owner wants people to go instead."""
    here = site()
    wanted = here.custom_not_found_url if here.domain_id else None
    location = wanted and wire(wanted, desk().settings.destination_schemes)
    return to(location) if location else page("not_found", 404)


@blueprint.app_errorhandler(StoreDown)
def is_down(error: StoreDown) -> Response:
    if is_api(request.path):
        return error_pages.told(error)
    current_app.logger.error("the database gives no answer: %s", error)
    answer = page("down", 503)
    answer.headers["Retry-After"] = RETRY_SECONDS
    return answer


def gate(plan: Plan, name: str, status: int, problem: str = "") -> Response:
    """A gate's page."""
    return answers.shown(
        name,
        status,
        template="public/gate.html",
        policy=policies.with_form(),
        link_title=title_of(plan),
        card=card_of(plan),
        gate=name,
        problem=here.words()(problem) if problem else None,
    )
