"""What does a visitor get where the answer is not a plain redirect?"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import re
from functools import cache

from flask import Blueprint, Response, abort, current_app, make_response, render_template, request
from werkzeug.routing import BaseConverter

from app.reserved import RESERVED, RESERVED_START
from app.visits.address import wire
from app.visits.desk import Desk
from app.visits.hosts import Site
from app.visits.outcomes import Outcome
from app.visits.paths import OPERATORS, first_segment
from app.visits.plan import ALWAYS, Plan
from app.visits.resolve import resolve
from app.visits.store import StoreDown

blueprint = Blueprint("public", __name__)

EVERY_METHOD = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
ALLOWED = "GET, HEAD"
RETRY_SECONDS = "5"

# what each page says: title, and a sentence for somebody who knows nothing of Waypost
TEXTS = {
    "not_found": ("This link does not exist", "Check the address for typing errors, or ask whoever sent it."),
    "not_yet": ("This link is not active yet", "Come back later, or ask whoever sent it."),
    "expired": ("This link has expired", "It led somewhere once, but its time is over."),
    "unavailable": ("This link can’t be opened yet", "Try again later, or ask whoever sent it."),
    "down": ("Something is not working", "This is not your fault. Please try again in a moment."),
    "prefetch": ("Not ahead of the visit", "Open the link to go there."),
    "method": ("This can’t be done here", "Open the address in a browser."),
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
    if not allows_method(plan):
        answer = page("method", 405)
        answer.headers["Allow"] = ALLOWED
        return answer
    visitor = desk().visitor(environ)
    if visitor.is_prefetch:
        return page("prefetch", 503)
    outcome = resolve(plan, visitor, dt.datetime.now(dt.UTC))
    if outcome.counts and request.method == "GET":
        desk().record(plan, visitor, outcome.destination)
    return shown(outcome)


@blueprint.route("/<alias:alias>/<path:rest>", methods=EVERY_METHOD)
def below(alias: str, rest: str) -> Response:  # noqa: ARG001
    """A link has no pages below it."""
    return nothing_here()


def allows_method(plan: Plan) -> bool:
    return request.method in {"GET", "HEAD"} or (plan.is_plain and plan.keeps_method)


def shown(outcome: Outcome) -> Response:
    """The answer that an outcome stands for."""
    if outcome.outcome == "not_found":
        return nothing_here()
    if outcome.location:
        return to(outcome.location, outcome.status)
    return page(outcome.outcome, outcome.status)


def nothing_here() -> Response:
    """The 404 page, or where the domain's owner wants people to go instead."""
    here = site()
    wanted = here.custom_not_found_url if here.domain_id else None
    location = wanted and wire(wanted, desk().settings.destination_schemes)
    return to(location) if location else page("not_found", 404)


@blueprint.app_errorhandler(StoreDown)
def is_down(error: StoreDown) -> Response:
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
    answer.headers["Content-Security-Policy"] = policy(style_digest())
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


def policy(style: str) -> str:
    """Nothing but the page itself: one style, known by its digest, and no request to anywhere."""
    return (
        f"default-src 'none'; style-src '{style}'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


@cache
def style_digest() -> str:
    style = render_template("public/_style.css").encode()
    return f"sha256-{base64.b64encode(hashlib.sha256(style).digest()).decode()}"
