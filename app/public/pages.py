"""What does a visitor get where the answer is not a plain redirect?"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import re
from functools import cache

from flask import Blueprint, Response, abort, current_app, make_response, render_template, request
from werkzeug.routing import BaseConverter

from app import error_pages
from app.headers import is_api
from app.public import gates
from app.reserved import RESERVED, RESERVED_START
from app.visits.address import wire
from app.visits.desk import Desk
from app.visits.facts import Facts
from app.visits.hosts import Site
from app.visits.outcomes import Outcome
from app.visits.paths import OPERATORS, first_segment
from app.visits.plan import ALWAYS, Plan
from app.visits.resolve import resolve
from app.visits.store import StoreDown
from app.visits.visitor import Visitor

blueprint = Blueprint("public", __name__)

EVERY_METHOD = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
ALLOWED = "GET, HEAD"
RETRY_SECONDS = "5"
# answers that no form changes
CLOSED = frozenset({"not_found", "not_yet", "expired", "limit", "unavailable"})

# what each page says: title, and a sentence for somebody who knows nothing of Waypost
TEXTS = {
    "not_found": ("This link does not exist", "Check the address for typing errors, or ask whoever sent it."),
    "not_yet": ("This link is not active yet", "Come back later, or ask whoever sent it."),
    "expired": ("This link has expired", "It led somewhere once, but its time is over."),
    "limit": ("This link has been used up", "It could be opened only so many times."),
    "password": ("A password is needed", "This link opens only for those who know its password."),
    "warning": ("Sensitive content", "What this link leads to may not be suitable for everyone."),
    "preview": ("A link", "Open it in a browser to go where it leads."),
    "unreadable": ("This can’t be read", "Open the address in a browser."),
    "unavailable": ("This link can’t be opened yet", "Try again later, or ask whoever sent it."),
    "down": ("Something is not working", "This is not your fault. Please try again in a moment."),
    "prefetch": ("Not ahead of the visit", "Open the link to go there."),
    "method": ("This can’t be done here", "Open the address in a browser."),
}

# what stands in the forms of gates: labels, buttons, and why one stays shut
GATE_TEXTS = {
    "password": "Password",
    "open": "Open link",
    "continue": "Continue",
    "missing": "Please enter the password.",
    "wrong": "This password is not right.",
    "too_many": "There were too many tries. Please wait a while, then try again.",
    "busy": "Many people are opening this at once. Please try again in a moment.",
}


class AliasConverter(BaseConverter):
    """One path segment that is not reserved: those are left to the pages that have them."""

    regex = f"(?!(?i:{'|'.join(map(re.escape, sorted(RESERVED)))})$)(?!(?i:{re.escape(RESERVED_START)}))[^/]+"
    part_isolating = True


def desk() -> Desk:
    found: Desk = current_app.extensions["visits"]
    return found


def site() -> Site:
    """What the host that was asked serves. Raises StoreDown."""
    return desk().plans.site(request.environ.get("HTTP_HOST", ""))


@blueprint.before_app_request
def serve_only_here() -> None:
    """A path of ours is answered only on the hosts that serve it: no dashboard on somebody's domain."""
    if request.path == "/healthz":
        return  # asks no database, not even for this
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


@blueprint.route("/<alias:alias>", methods=EVERY_METHOD, strict_slashes=False)
def visit(alias: str) -> Response:  # noqa: ARG001  the path as sent says more than the alias as decoded
    environ = request.environ
    plan = desk().plans.find(environ.get("HTTP_HOST", ""), environ["PATH_INFO"])
    if plan is None:
        return nothing_here()
    visitor = desk().visitor(environ)
    if visitor.is_prefetch:
        return page("prefetch", 503)
    facts = gates.facts_of(desk(), plan)
    outcome = resolve(plan, visitor, dt.datetime.now(dt.UTC), facts)
    if outcome.outcome != "not_found" and not allows_method(plan):
        answer = page("method", 405)
        answer.headers["Allow"] = f"{ALLOWED}, POST" if gates.has_form(plan) else ALLOWED
        return answer
    if outcome.outcome not in CLOSED and request.method == "POST" and gates.has_form(plan):
        return passed(plan, visitor, outcome)
    if outcome.outcome in gates.GATES and not gates.is_own_spelling(plan):
        return gates.to_own_spelling(plan)
    return shown(counted(plan, visitor, outcome, facts))


def counted(plan: Plan, visitor: Visitor, outcome: Outcome, facts: Facts) -> Outcome:
    """The outcome, its visit counted; or what there is when the last click has just gone to somebody else."""
    if not outcome.counts or request.method != "GET" or desk().admit(plan, visitor, outcome.destination):
        return outcome
    return resolve(plan, visitor, dt.datetime.now(dt.UTC), facts._replace(clicks=plan.clicks_limit))


def passed(plan: Plan, visitor: Visitor, outcome: Outcome) -> Response:
    """What a gate's form gets: the way on, or the gate again and why."""
    try:
        return gates.passing(desk(), plan, visitor, outcome.outcome)
    except gates.Refused as refused:
        if refused.reason == "unreadable":
            return page("unreadable", refused.status)
        answer = gate("password", refused.status, refused.reason)
        if refused.seconds:
            answer.headers["Retry-After"] = str(refused.seconds)
        return answer


@blueprint.route("/<alias:alias>/<path:rest>", methods=EVERY_METHOD)
def below(alias: str, rest: str) -> Response:  # noqa: ARG001
    """A link has no pages below it."""
    return nothing_here()


def allows_method(plan: Plan) -> bool:
    if request.method == "POST" and gates.has_form(plan):
        return True
    return request.method in {"GET", "HEAD"} or (plan.is_plain and plan.keeps_method)


def shown(outcome: Outcome) -> Response:
    """The answer that an outcome stands for."""
    if outcome.outcome == "not_found":
        return nothing_here()
    if outcome.location:
        return to(outcome.location, outcome.status)
    if outcome.outcome in gates.GATES:
        return gate(outcome.outcome, outcome.status)
    return page(outcome.outcome, outcome.status)


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


def to(location: str, status: int = 302) -> Response:
    """A redirect with nothing in it but the address: Werkzeug's own would write a page around it."""
    answer = make_response("", status, ALWAYS)
    answer.headers["Location"] = location
    answer.autocorrect_location_header = False
    del answer.headers["Content-Type"]
    return answer


def page(name: str, status: int) -> Response:
    title, text = TEXTS[name]
    answer = make_response(render_template("public/page.html", title=title, text=text), status, ALWAYS)
    return with_policy(answer, "form-action 'none'")


def gate(name: str, status: int, problem: str = "") -> Response:
    """A gate's page. Its policy leaves `form-action` out: browsers apply that to where a form's answer leads
    in the end, too, which is the destination."""
    title, text = TEXTS[name]
    told = {"gate": name, "title": title, "text": text, "words": GATE_TEXTS}
    body = render_template("public/gate.html", **told, problem=GATE_TEXTS.get(problem))
    return with_policy(make_response(body, status, ALWAYS))


def with_policy(answer: Response, *more: str) -> Response:
    answer.headers["Content-Security-Policy"] = policy(style_digest(), *more)
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


def policy(style: str, *more: str) -> str:
    """Nothing but the page itself: one style, known by its digest, and no request to anywhere."""
    parts = ("default-src 'none'", f"style-src '{style}'", "img-src data:", "base-uri 'none'", *more)
    return "; ".join((*parts, "frame-ancestors 'none'"))


@cache
def style_digest() -> str:
    style = render_template("public/_style.css").encode()
    return f"sha256-{base64.b64encode(hashlib.sha256(style).digest()).decode()}"
