"""How is a script boxed, beside a page that must keep its origin to itself?

In a hidden frame with an address of its own, under the link's: the link's, with a signed parameter at the
end. (A frame made by `srcdoc` would inherit the page's policy.)
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from flask import Response, make_response, request

from app.pixels.firing import program_of
from app.public import answers, here, policies
from app.public.scripts import Scripts, parted, scripts_of
from app.visits import tickets
from app.visits.plan import ALWAYS, Plan
from app.visits.store import Row
from app.visits.tickets import Box

PARAMETER = "box"
SANDBOX = {"sandbox": "allow-scripts"}
SAFE_IN_QUERY = "".join(map(chr, range(0x21, 0x7F)))
STORAGE = Path(__file__).with_name("sandbox_storage.js")
REPORT = Path(__file__).with_name("report_pixels.js")
# providers are told the link's address with the visitor's own query, not with our parameter
OWN_ADDRESS = """try {
  history.replaceState(null, "", location.href.replace(/[?&]box=[^&#]*$/, ""));
} catch (error) {
  console.error(error);
}"""


def address(plan: Plan, *, fires: bool) -> str:
    """Where the box's document is, from the page of the link itself."""
    query = quote(request.query_string, safe=SAFE_IN_QUERY)
    ticket = tickets.signed(Box(plan.id, fires))
    return f"?{query}{'&' if query else ''}{PARAMETER}={ticket}"


def asked(plan: Plan) -> Box | None:
    """The ticket of a request for a box of this link; None for any other request."""
    _, _, text = request.environ.get("QUERY_STRING", "").rpartition(f"{PARAMETER}=")
    ticket = tickets.read(Box, text) if text else None
    return ticket if ticket and ticket.link_id == plan.id and plan.is_enabled else None


def document(plan: Plan, ticket: Box) -> Response:
    """What is in the box: the link's scripts and nothing of where it leads."""
    details, scripts = scripts_here(plan, fires=ticket.fires)
    _, boxed = parted(scripts, plan, here.site(), here.host(), here.desk().settings)
    nonce = policies.nonce()
    told = {"words": here.words(), "title": details.get("cloaking_title") or details.get("title")}
    parts = (OWN_ADDRESS, program_of(STORAGE), reported(boxed), boxed.custom_program())
    body = answers.rendered("public/box.html", **told, nonce=nonce, program="\n".join(parts))
    directives = policies.united(
        policies.closed(), {"script-src": f"'nonce-{nonce}'"}, boxed.policy(), SANDBOX
    )
    answer = make_response(body, 200, ALWAYS)
    directives["frame-ancestors"] = "'self'"
    return answers.open_to_others(answers.guarded(answer, directives, answers.ORIGIN_ONLY))


def reported(scripts: Scripts) -> str:
    """JavaScript that fires the pixels of a box, and tells the page beside it how far they are."""
    fired = scripts.pixels.program("tell")
    return f"{program_of(REPORT)}(function (tell) {{ return {fired}; }});" if fired else ""


def scripts_here(plan: Plan, *, fires: bool) -> tuple[Row, Scripts]:
    """What pages show of a link, and all scripts that come with it."""
    store = here.desk().plans.store
    details = store.page(plan.id) or {}
    pixels = store.pixels(plan.id) if fires else []
    return details, scripts_of(details, pixels, cloaked=plan.cloaking_is_enabled, fires=fires)
