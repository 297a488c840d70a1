"""How do the pages look that bring a visitor to the destination, or the destination to him?"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from flask import Response, request

from app.pixels.firing import as_script, program_of
from app.pixels.provider import all_providers
from app.public import answers, boxes, here, policies
from app.public.cards import make_card
from app.public.leaving import leaving_program
from app.public.scripts import Scripts, parted
from app.visits import tickets
from app.visits.outcomes import Outcome
from app.visits.plan import Plan
from app.visits.store import Row
from app.visits.tickets import Passage

APP_MS = 2000  # until the web address follows
# a page that stands in nobody's way may stand in somebody's frame, as a redirect may
ANYWHERE = {"frame-ancestors": None}
ANY_PAGE = {"frame-src": "http: https:", "img-src": "'self'"}

OPEN_APP = Path(__file__).with_name("open_app.js")
GO_ON = "function () { location.replace(%s); }"


def cloak(plan: Plan, outcome: Outcome) -> Response:
    """The destination in a frame as large as the window; what is boxed runs in a hidden one beside it."""
    parts = parts_of(plan, fires=outcome.fires)
    return answered(
        "preview",
        parts,
        program=parts.own.program(),
        policy=ANY_PAGE | upgrade(outcome),
        template="public/cloak.html",
        location=outcome.location,
        card=make_card(parts.details, plan),
    )


def preview(plan: Plan, outcome: Outcome) -> Response:  # noqa: ARG001
    """What a bot, or who must not learn it, gets in place of the destination: the card, if any."""
    details = here.desk().plans.store.page(plan.id) or {}
    if not (plan.cloaking_is_enabled or plan.has_card):
        return answers.page("preview", 200, link_title=details.get("title"))
    return answers.shown(
        "preview",
        200,
        template="public/preview.html",
        policy={"img-src": "'self'"},
        card=make_card(details, plan),
    )


def pixels(plan: Plan, outcome: Outcome) -> Response:
    """Fires the pixels and goes on. Not sandboxed itself: the destination would see no referrer."""
    parts = parts_of(plan, fires=True)
    return answered(
        "pixels",
        parts,
        program=leaving_program(GO_ON % as_script(outcome.location), parts.own, parts.boxed),
        policy={"frame-src": "'self'"},
        template="public/pixels.html",
        location=outcome.location,
    )


def app(plan: Plan, outcome: Outcome) -> Response:
    """Opens the app, where it can be opened without a tap, and falls back to the web address."""
    parts = parts_of(plan, fires=outcome.fires)
    opening = outcome.opening
    assert opening is not None  # noqa: S101  what makes it an outcome of this name
    addresses = f"{as_script(opening.address)}, {as_script(opening.fallback)}, {APP_MS}"
    return answered(
        "app" if opening.address else "app_by_tap",
        parts,
        program=leaving_program(f"{program_of(OPEN_APP)}({addresses})", parts.own, parts.boxed),
        policy={"frame-src": "'self'"},
        template="public/app.html",
        opening=opening,
        seconds=APP_MS // 1000,
        values={"app": opening.app},
    )


def consent(plan: Plan, outcome: Outcome) -> Response:
    """Asks before pixels fire. Both answers lead on, and nothing is remembered: there is no cookie for it."""
    details, scripts = boxes.scripts_here(plan, fires=True)
    labels = [all_providers()[type_].label for type_ in scripts.pixels.ids]
    passage = Passage(plan.id, plan.password_version, outcome.location or "", tickets.make_id())
    return answers.shown(
        "consent",
        200,
        template="public/consent.html",
        policy=policies.with_form(),
        link_title=details.get("title"),
        values={"providers": here.words().listed(labels)},
        ticket=tickets.signed(passage),
    )


PAGES = {"cloak": cloak, "preview": preview, "pixels": pixels, "app": app, "consent": consent}


class Parts(NamedTuple):
    """What a page of a link is made of: what it shows, the scripts that run in it, those that are boxed, and
    the address of their box."""

    details: Row
    own: Scripts
    boxed: Scripts
    box: str | None


def parts_of(plan: Plan, *, fires: bool) -> Parts:
    details, scripts = boxes.scripts_here(plan, fires=fires)
    own, boxed = parted(scripts, plan, here.site(), here.host(), here.desk().settings)
    return Parts(details, own, boxed, boxes.address(plan, fires=fires) if boxed else None)


def answered(
    name: str,
    parts: Parts,
    *,
    program: str,
    policy: policies.Directives,
    template: str,
    values: dict[str, str] | None = None,
    **told: Any,
) -> Response:
    """A page with a program: its policy names the hosts of its own providers, and lets nothing else run.

    Without JavaScript the pictures of all providers stand in the page itself: a box might come too late.
    """
    nonce = policies.nonce()
    inline = {"script-src": f"'nonce-{nonce}'"} if program.strip() else {}
    answer = answers.shown(
        name,
        200,
        template=template,
        policy=policies.united(
            inline, parts.own.policy(), parts.boxed.pixels.picture_hosts(), policy, ANYWHERE
        ),
        referrer=answers.ORIGIN_ONLY,
        link_title=parts.details.get("title"),
        values=values,
        nonce=nonce,
        program=program,
        pictures=[*parts.own.pixels.pictures(), *parts.boxed.pixels.pictures()],
        box=parts.box,
        **told,
    )
    return answers.open_to_others(answer)


def upgrade(outcome: Outcome) -> dict[str, str]:
    """On https a browser shows no frame over http; over https the destination has a chance."""
    is_mixed = request.is_secure and (outcome.location or "").lower().startswith("http:")
    return {"upgrade-insecure-requests": ""} if is_mixed else {}
