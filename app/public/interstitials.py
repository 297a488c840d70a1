"""Pages between a link and its destination: cloaked, preview, pixels, app, consent and confirmation.

Scripts of owners and providers must not share the page's origin, so they run in a sandbox beside it: a hidden
frame with its own URL, which is the link's with a signed parameter at the end. (A frame made by `srcdoc`
would inherit the page's policy.)
"""

# see docs/decisions/2026-11-22-pixels-count-once.md
from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from flask import Response, make_response, request

from app.pixels.firing import as_script, program_of
from app.pixels.provider import all_providers
from app.public import answers, confirmation, csp
from app.public.cards import make_card
from app.public.page_texts import in_visitors_language, join_names
from app.redirects import request_context, signed_tokens
from app.redirects.compiled_link import ALWAYS, CompiledLink
from app.redirects.outcomes import Outcome
from app.redirects.page_scripts import Scripts, parted, scripts_of
from app.redirects.reader import Row
from app.redirects.signed_tokens import Box, Passage

PARAMETER = "box"
SANDBOX = {"sandbox": "allow-scripts"}
STORAGE = Path(__file__).with_name("sandbox_storage.js")
REPORT = Path(__file__).with_name("report_pixels.js")
# removes our parameter, so that providers see the link's URL with the visitor's own query
OWN_ADDRESS = """try {
  history.replaceState(null, "", location.href.replace(/[?&]box=[^&#]*$/, ""));
} catch (error) {
  console.error(error);
}"""


def address(compiled_link: CompiledLink, *, fires: bool) -> str:
    """The URL of the sandbox's document, relative to the link."""
    query = request_context.query()
    ticket = signed_tokens.signed(Box(compiled_link.id, fires))
    return f"?{query}{'&' if query else ''}{PARAMETER}={ticket}"


def read_token(compiled_link: CompiledLink) -> Box | None:
    """The signed token of a request for this link's sandbox; None for any other request."""
    _, _, text = request.environ.get("QUERY_STRING", "").rpartition(f"{PARAMETER}=")
    ticket = signed_tokens.read(Box, text) if text else None
    return ticket if ticket and ticket.link_id == compiled_link.id and compiled_link.is_enabled else None


def document(compiled_link: CompiledLink, ticket: Box) -> Response:
    """The sandbox's document: the link's scripts, and nothing about its destination."""
    details, scripts = scripts_here(compiled_link, fires=ticket.fires)
    _, boxed = parted(
        scripts,
        compiled_link,
        request_context.site(),
        request_context.host(),
        request_context.redirect_context().settings,
    )
    nonce = csp.nonce()
    title = details.get("cloaking_title") or details.get("title")
    parts = (OWN_ADDRESS, program_of(STORAGE), reported(boxed), boxed.custom_program())
    with in_visitors_language():
        body = answers.rendered("public/box.html", title=title, nonce=nonce, program="\n".join(parts))
    directives = csp.merge(csp.base_policy(), {"script-src": f"'nonce-{nonce}'"}, boxed.policy(), SANDBOX)
    answer = make_response(body, 200, ALWAYS)
    directives["frame-ancestors"] = "'self'"
    return answers.open_to_others(answers.guarded(answer, directives, answers.ORIGIN_ONLY))


def reported(scripts: Scripts) -> str:
    """JavaScript that fires the pixels of a sandbox, and reports their progress to the page beside it."""
    fired = scripts.pixels.program("tell")
    return f"{program_of(REPORT)}(function (tell) {{ return {fired}; }});" if fired else ""


def scripts_here(compiled_link: CompiledLink, *, fires: bool) -> tuple[Row, Scripts]:
    """The columns that a link's pages show, and all scripts of the link."""
    store = request_context.redirect_context().compiled_links.store
    details = store.page_details(compiled_link.id) or {}
    pixels = store.pixels(compiled_link.id) if fires else []
    return details, scripts_of(details, pixels, cloaked=compiled_link.cloaking_is_enabled, fires=fires)


# The contract: go on within a second, or within 1.5 s while a request is under way. The first time leaves
# room for what a script sends after its first request; the second lets pictures be requested.
SOONEST_MS, STAND_IN_MS, LATEST_MS = 800, 1400, 1500
APP_MS = 2000  # until the page goes on to the web address
# a page without a form may be framed by any site, as the target of a redirect may
ANYWHERE = {"frame-ancestors": None}
ANY_PAGE = {"frame-src": "http: https:", "img-src": "'self'"}

OPEN_APP = Path(__file__).with_name("open_app.js")
LEAVE_PAGE = Path(__file__).with_name("leave_page.js")
GO_ON = "function () { location.replace(%s); }"


def cloak(compiled_link: CompiledLink, outcome: Outcome) -> Response:
    """The destination in a frame as large as the window. Sandboxed scripts run in a hidden frame."""
    parts = parts_of(compiled_link, fires=outcome.fires)
    return answered(
        "preview",
        parts,
        program=parts.own.program(),
        policy=ANY_PAGE | upgrade(outcome),
        template="public/cloak.html",
        location=outcome.location,
        card=make_card(parts.details, compiled_link),
    )


def preview(compiled_link: CompiledLink, outcome: Outcome) -> Response:  # noqa: ARG001
    """The page for bots and for visitors who must not learn the destination: its card, if it has one."""
    details = request_context.redirect_context().compiled_links.store.page_details(compiled_link.id) or {}
    if not (compiled_link.cloaking_is_enabled or compiled_link.has_card):
        return answers.render_message("preview", 200, link_title=details.get("title"))
    return answers.render_page(
        "preview",
        200,
        template="public/preview.html",
        policy={"img-src": "'self'"},
        card=make_card(details, compiled_link),
    )


def pixels(compiled_link: CompiledLink, outcome: Outcome) -> Response:
    """Fires the pixels and goes on. It is not sandboxed: the destination would see no referrer."""
    parts = parts_of(compiled_link, fires=True)
    return answered(
        "pixels",
        parts,
        program=leaving_program(GO_ON % as_script(outcome.location), parts.own, parts.boxed),
        policy={"frame-src": "'self'"},
        template="public/pixels.html",
        location=outcome.location,
    )


def app(compiled_link: CompiledLink, outcome: Outcome) -> Response:
    """Opens the app, where it can be opened without a tap, and falls back to the web address."""
    parts = parts_of(compiled_link, fires=outcome.fires)
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


def consent(compiled_link: CompiledLink, outcome: Outcome) -> Response:
    """Asks for consent before pixels fire. Both answers go on to the destination. No cookie stores them."""
    details, scripts = scripts_here(compiled_link, fires=True)
    labels = [all_providers()[type_].label for type_ in scripts.pixels.ids]
    if compiled_link.asks_confirmation:
        ticket = confirmation.make_ticket(compiled_link)
    else:
        passage = Passage(
            compiled_link.id, compiled_link.password_version, outcome.location or "", signed_tokens.make_id()
        )
        ticket = signed_tokens.signed(passage)
    with in_visitors_language():
        providers = join_names(labels)
    return answers.render_page(
        "consent",
        200,
        template="public/consent.html",
        policy=csp.with_form(),
        link_title=details.get("title"),
        values={"providers": providers},
        ticket=ticket,
    )


def confirm(compiled_link: CompiledLink, outcome: Outcome) -> Response:  # noqa: ARG001  as all of these
    """Asks for a tap, and reveals nothing of the destination."""
    details = request_context.redirect_context().compiled_links.store.page_details(compiled_link.id) or {}
    return answers.render_page(
        "confirmation",
        200,
        template="public/confirmation.html",
        policy=csp.with_form(),
        link_title=details.get("title"),
        card=make_card(details, compiled_link) if compiled_link.has_card else None,
        ticket=confirmation.make_ticket(compiled_link),
    )


PAGES = {
    "cloak": cloak,
    "preview": preview,
    "pixels": pixels,
    "app": app,
    "consent": consent,
    "confirmation": confirm,
}


class Parts(NamedTuple):
    """The parts of a link's page: `details` that it shows, its `own` scripts, and the `boxed` ones.

    `box`: the URL of the sandboxed frame of the latter.
    """

    details: Row
    own: Scripts
    boxed: Scripts
    box: str | None


def parts_of(compiled_link: CompiledLink, *, fires: bool) -> Parts:
    details, scripts = scripts_here(compiled_link, fires=fires)
    own, boxed = parted(
        scripts,
        compiled_link,
        request_context.site(),
        request_context.host(),
        request_context.redirect_context().settings,
    )
    return Parts(details, own, boxed, address(compiled_link, fires=fires) if boxed else None)


def answered(
    name: str,
    parts: Parts,
    *,
    program: str,
    policy: csp.Directives,
    template: str,
    values: dict[str, str] | None = None,
    **told: Any,
) -> Response:
    """A page with a program. Its policy names the hosts of its own providers, and lets nothing else run.

    For visitors without JavaScript the page itself has the pictures of all providers: a box might load too
    late.
    """
    nonce = csp.nonce()
    inline = {"script-src": f"'nonce-{nonce}'"} if program.strip() else {}
    answer = answers.render_page(
        name,
        200,
        template=template,
        policy=csp.merge(inline, parts.own.policy(), parts.boxed.pixels.picture_hosts(), policy, ANYWHERE),
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


def leaving_program(leave: str, own: Scripts, boxed: Scripts) -> str:
    """JavaScript that fires the page's own pixels, waits for them and for those in the sandbox, then leaves.

    `leave` is JavaScript of a function. Without any pixels it is called as soon as the page is loaded.
    """
    parts = [name for name, scripts in (("page", own), ("sandbox", boxed)) if scripts.pixels]
    if not parts:
        return f'addEventListener("load", {leave});'  # before that, an app's URL would stop the loading
    times = f"{SOONEST_MS}, {STAND_IN_MS}, {LATEST_MS}"
    waiting = f"var leaving = {program_of(LEAVE_PAGE)}({leave}, {parts}, {times});"
    fired = own.pixels.program("leaving.tell")
    return f"{waiting}\n{fired and f'leaving.addStandIn({fired});'}"


def upgrade(outcome: Outcome) -> dict[str, str]:
    """The directive that loads an http destination over https: on https browsers show no http frame."""
    is_mixed = request.is_secure and (outcome.location or "").lower().startswith("http:")
    return {"upgrade-insecure-requests": ""} if is_mixed else {}
