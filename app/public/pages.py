"""Routes of short links for every request that is not a plain redirect."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeVar

from flask import Blueprint, Response, abort, current_app, request
from flask.blueprints import BlueprintSetupState
from werkzeug.exceptions import SecurityError
from werkzeug.routing import BaseConverter, Rule

from app.core.errors import StoreDown, WaypostError
from app.public import answers, cards, confirmation, csp, gates, interstitials
from app.public.answers import render_message, to
from app.public.cards import card_of
from app.public.page_texts import REFUSALS
from app.redirects import request_context as here
from app.redirects.compiled_link import CompiledLink
from app.redirects.limits import Confirmed
from app.redirects.location import encode_location
from app.redirects.outcomes import Outcome, after_form
from app.redirects.request_context import redirect_context, site
from app.redirects.resolve import resolve
from app.redirects.state import LinkState
from app.redirects.visitor import Visitor
from app.web import error_pages
from app.web.errors import status_of
from app.web.paths import OPERATORS, RESERVED, RESERVED_START, first_segment
from app.web.security_headers import is_api

SAFE = frozenset({"GET", "HEAD"})
ALLOWED = "GET, HEAD"

View = TypeVar("View", bound=Callable[..., Response])

blueprint = Blueprint("public", __name__)

REDIRECTS = range(300, 400)
RETRY_SECONDS = "5"
# outcomes that no form changes
CLOSED = frozenset({"not_found", "not_yet", "expired", "limit", "unavailable"})


class AliasConverter(BaseConverter):
    """A whole path whose first segment is not reserved. Reserved ones belong to other routes."""

    regex = (
        rf"(?!(?i:{'|'.join(map(re.escape, sorted(RESERVED)))})(?:/|\Z))(?!(?i:{re.escape(RESERVED_START)}))"
        r"(?s:.)+"
    )
    part_isolating = False


@blueprint.before_app_request
def serve_only_here() -> None:
    """Serve each path only on its hosts: no dashboard on an owner's domain.

    A host that `TRUSTED_HOSTS` does not name gets nothing but health checks, which often use an IP address.
    """
    if request.path == "/healthz":
        return  # it works without the database, so it must not look up its host either
    try:
        found = site()
    except StoreDown:
        if first_segment(request.path) in OPERATORS:  # they report what is down
            return
        raise
    if not found.is_trusted and first_segment(request.path) not in OPERATORS:
        # as for an unknown path: no view is called, and the API answers in its own format
        request.url_rule, request.routing_exception = None, SecurityError()
    elif not found.may_serve(request.path):
        abort(404)


@blueprint.get("/")
def index() -> Response:
    """Redirects to the dashboard; on a domain, to the URL that its owner chose, else 404."""
    here, settings = site(), redirect_context().settings
    if not here.domain_id:
        return to(f"{settings.dashboard_url or ''}/dashboard/")
    location = here.custom_index_url and encode_location(here.custom_index_url, settings.destination_schemes)
    return to(location) if location else render_message("not_found", 404)


@blueprint.get("/robots.txt")
def robots() -> Response:
    """Allows crawlers to request links: only the response tells them that links are not to be indexed."""
    return Response("User-agent: *\nDisallow: /dashboard/\nDisallow: /api/\n", mimetype="text/plain")


def with_any(blueprint: Blueprint, rule: str, **options: Any) -> Callable[[View], View]:
    """A route for all methods, also unknown ones.

    Flask's `route` needs a list of methods, and would refuse all others itself, with a text and an `Allow`
    that are not the link's.
    """

    def bind(view: View) -> View:
        endpoint = f"{blueprint.name}.{view.__name__}"

        def add(state: BlueprintSetupState) -> None:
            state.app.url_map.add(Rule(rule, endpoint=endpoint, **options))

        blueprint.record(add)
        return blueprint.endpoint(endpoint)(view)

    return bind


@with_any(blueprint, "/<alias:alias>", strict_slashes=False)
def visit(alias: str) -> Response:  # noqa: ARG001  the path as sent says more than the alias as decoded
    compiled_link = redirect_context().compiled_links.find(here.host(), request.environ["PATH_INFO"])
    if compiled_link is None:
        return about_link()
    visitor = here.visitor()
    if visitor.is_prefetch:
        return render_message("prefetch", 503)
    if request.method in SAFE and (ticket := interstitials.read_token(compiled_link)):
        return interstitials.document(compiled_link, ticket)
    try:
        if request.method == "POST" and compiled_link.asks_confirmation:
            return confirmed(compiled_link, visitor)
        if request.method == "POST" and confirmation.was_answered(compiled_link):
            return answer_consent(compiled_link)
    except WaypostError as error:
        return render_message("unreadable", status_of(error))
    facts = gates.facts_of(redirect_context(), compiled_link)
    outcome = resolve(compiled_link, visitor, dt.datetime.now(dt.UTC), facts)
    if outcome.outcome != "not_found" and not allows(compiled_link):
        return not_allowed(compiled_link)
    if outcome.outcome not in CLOSED and request.method == "POST" and gates.has_form(compiled_link):
        return passed(compiled_link, visitor, outcome)
    if outcome.outcome in gates.GATES and not gates.is_own_spelling(compiled_link):
        return gates.to_own_spelling(compiled_link)
    return outcome_response(compiled_link, counted(compiled_link, visitor, outcome, facts))


def about_link() -> Response:
    """The page about a link's destination, if the path asks for it; else the 404 page."""
    path = cards.path_of_link(request.environ["PATH_INFO"])
    if path is None:
        return nothing_here()
    if here.visitor().is_prefetch:
        return render_message("prefetch", 503)
    return (cards.render_preview(path) if request.method in SAFE else None) or nothing_here()


def counted(compiled_link: CompiledLink, visitor: Visitor, outcome: Outcome, facts: LinkState) -> Outcome:
    """The outcome, after its click is counted; or that of a used-up link, if another visitor got the last."""
    if (
        not outcome.counts
        or request.method != "GET"
        or redirect_context().admit(compiled_link, visitor, outcome.destination)
    ):
        return outcome
    return used_up(compiled_link, visitor, facts)


def used_up(compiled_link: CompiledLink, visitor: Visitor, facts: LinkState) -> Outcome:
    return resolve(
        compiled_link, visitor, dt.datetime.now(dt.UTC), facts._replace(clicks=compiled_link.clicks_limit)
    )


def confirmed(compiled_link: CompiledLink, visitor: Visitor) -> Response:
    """The response to the form of a link that asks for a tap: it goes on, if a click was left.

    Without a token, or with a used one, it redirects to the link itself. Raises WaypostError.
    """
    facts, ticket = gates.facts_of(redirect_context(), compiled_link), confirmation.find_ticket(compiled_link)
    if ticket:
        visitor, facts = (
            confirmation.visitor_with(redirect_context(), ticket),
            confirmation.facts_with(facts, compiled_link),
        )
    outcome = after_form(resolve(compiled_link, visitor, dt.datetime.now(dt.UTC), facts))
    if ticket is None and outcome.outcome in {"confirmation", "consent"}:
        return gates.redirect_to_itself(compiled_link, HTTPStatus.SEE_OTHER)
    # rendered before the click is used up, so that a page that fails costs no click
    answer = outcome_response(compiled_link, outcome)
    if ticket is None or not outcome.counts or visitor.is_bot:
        return answer
    result = redirect_context().confirm(compiled_link, visitor, outcome.destination, ticket)
    if result is Confirmed.USED_UP:
        return outcome_response(compiled_link, used_up(compiled_link, visitor, facts))
    return (
        answer
        if result is Confirmed.PASSED
        else gates.redirect_to_itself(compiled_link, HTTPStatus.SEE_OTHER)
    )


def answer_consent(compiled_link: CompiledLink) -> Response:
    """The response to the form of the consent page.

    With an invalid or used token it redirects to the link itself, which counts again.
    """
    passage = confirmation.find_passage(compiled_link)
    if passage:
        # rendered before the token is used up, so that a page that fails costs no click
        answer = outcome_response(compiled_link, confirmation.resolve_answer(compiled_link, passage))
        if redirect_context().redeem(compiled_link, passage):
            return answer
    return gates.redirect_to_itself(compiled_link, HTTPStatus.SEE_OTHER)


def passed(compiled_link: CompiledLink, visitor: Visitor, outcome: Outcome) -> Response:
    """The response to a gate's form: it goes on, or shows the gate again with the reason."""
    try:
        return gates.passing(redirect_context(), compiled_link, visitor, outcome.outcome)
    except gates.GateRefused as refused:
        if refused.reason == "unreadable":
            return render_message("unreadable", refused.status)
        answer = gate(compiled_link, "password", refused.status, refused.reason)
        if refused.seconds:
            answer.headers["Retry-After"] = str(refused.seconds)
        return answer


def outcome_response(compiled_link: CompiledLink, outcome: Outcome) -> Response:
    """The response for an outcome."""
    if outcome.outcome == "not_found":
        return nothing_here()
    if outcome.location and outcome.status in REDIRECTS:
        return to(outcome.location, outcome.status)
    if outcome.outcome in interstitials.PAGES:
        return interstitials.PAGES[outcome.outcome](compiled_link, outcome)
    if outcome.outcome in gates.GATES:
        return gate(compiled_link, outcome.outcome, outcome.status)
    return render_message(outcome.outcome, outcome.status, link_title=title_of(compiled_link))


def title_of(compiled_link: CompiledLink) -> str | None:
    """The link's own title, the only thing about the link and its owner that these pages show."""
    return (redirect_context().compiled_links.store.page_details(compiled_link.id) or {}).get("title")


def nothing_here() -> Response:
    """The 404 page, or a redirect to the URL that the domain's owner chose instead."""
    here = site()
    wanted = here.custom_not_found_url if here.domain_id else None
    location = wanted and encode_location(wanted, redirect_context().settings.destination_schemes)
    return to(location) if location else render_message("not_found", 404)


@blueprint.app_errorhandler(StoreDown)
def is_down(error: StoreDown) -> Response:
    if is_api(request.path):
        return error_pages.error_response(error)
    current_app.logger.error("the database gives no answer: %s", error)
    answer = render_message("down", 503)
    answer.headers["Retry-After"] = RETRY_SECONDS
    return answer


def gate(compiled_link: CompiledLink, name: str, status: int, problem: str = "") -> Response:
    """The page of a gate. `problem` is the name of the reason why the form was refused."""
    return answers.render_page(
        name,
        status,
        template="public/gate.html",
        policy=csp.with_form(),
        link_title=title_of(compiled_link),
        card=card_of(compiled_link),
        gate=name,
        problem=REFUSALS[problem] if problem else None,
    )


# --- methods that a short link accepts, and the response to any other


def has_form(compiled_link: CompiledLink) -> bool:
    return (
        gates.has_form(compiled_link)
        or confirmation.is_asked(compiled_link)
        or compiled_link.asks_confirmation
    )


def allows(compiled_link: CompiledLink) -> bool:
    if request.method == "POST" and has_form(compiled_link):
        return True
    return request.method in SAFE or (compiled_link.is_plain and compiled_link.keeps_method)


def not_allowed(compiled_link: CompiledLink) -> Response:
    answer = render_message("method", 405)
    answer.headers["Allow"] = f"{ALLOWED}, POST" if has_form(compiled_link) else ALLOWED
    return answer
