"""The sandbox for owners' and providers' scripts, beside a page that must not share its origin with them.

It is a hidden frame with its own URL: the link's, with a signed parameter at the end. (A frame made by
`srcdoc` would inherit the page's policy.)
"""

from __future__ import annotations

from pathlib import Path

from flask import Response, make_response, request

from app.pixels.firing import program_of
from app.public import answers, csp
from app.public.page_texts import in_visitors_language
from app.redirects import request_context, signed_tokens
from app.redirects.compiled_link import ALWAYS, CompiledLink
from app.redirects.page_scripts import Scripts, parted, scripts_of
from app.redirects.reader import Row
from app.redirects.signed_tokens import Box

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
