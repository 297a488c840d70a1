"""How is a script boxed, beside a page that must keep its origin to itself?

In a hidden frame with an address of its own, under the link's: the link's, with a signed parameter at the
end. (A frame made by `srcdoc` would inherit the page's policy.)
"""

from __future__ import annotations

from urllib.parse import quote

from flask import Response, make_response, request

from app.public import answers, here, policies
from app.public.scripts import Scripts, parted, scripts_of
from app.visits import tickets
from app.visits.plan import ALWAYS, Plan
from app.visits.store import Row
from app.visits.tickets import Box

PARAMETER = "box"
SANDBOX = {"sandbox": "allow-scripts"}
SAFE_IN_QUERY = "".join(map(chr, range(0x21, 0x7F)))
# providers are told the link's address with the visitor's own query, not with our parameter
OWN_ADDRESS = """try {
  history.replaceState(null, "", location.href.replace(/[?&]box=[^&#]*$/, ""));
} catch (error) {
  console.error(error);
}"""


def address(plan: Plan, *, fires: bool) -> str:
    """Where the box's document is, from the page of the link itself."""
    query = quote(request.query_string, safe=SAFE_IN_QUERY)
    ticket = tickets.signed(here.desk().settings.secret_key, Box(plan.id, fires))
    return f"?{query}{'&' if query else ''}{PARAMETER}={ticket}"


def asked(plan: Plan) -> Box | None:
    """The ticket of a request for a box of this link; None for any other request."""
    _, _, text = request.environ.get("QUERY_STRING", "").rpartition(f"{PARAMETER}=")
    ticket = tickets.read(here.desk().settings.secret_key, Box, text) if text else None
    return ticket if ticket and ticket.link_id == plan.id and plan.is_enabled else None


def document(plan: Plan, ticket: Box) -> Response:
    """What is in the box: the link's scripts and nothing of where it leads."""
    details, scripts = scripts_here(plan, fires=ticket.fires)
    _, boxed = parted(scripts, plan, here.site(), here.host(), here.desk().settings)
    nonce = policies.nonce()
    told = {"words": here.words(), "title": details.get("cloaking_title") or details.get("title")}
    program = f"{OWN_ADDRESS}\n{boxed.program()}\n{boxed.pixels.late_pictures()}"
    body = answers.rendered(
        "public/box.html", **told, nonce=nonce, program=program, pictures=boxed.pixels.pictures()
    )
    directives = policies.united(
        policies.closed(), {"script-src": f"'nonce-{nonce}'"}, boxed.policy(), SANDBOX
    )
    answer = make_response(body, 200, ALWAYS)
    directives["frame-ancestors"] = "'self'"
    return answers.open_to_others(answers.guarded(answer, directives, answers.ORIGIN_ONLY))


def scripts_here(plan: Plan, *, fires: bool) -> tuple[Row, Scripts]:
    """What pages show of a link, and all scripts that come with it."""
    store = here.desk().plans.store
    details = store.page(plan.id) or {}
    pixels = store.pixels(plan.id) if fires else []
    return details, scripts_of(details, pixels, cloaked=plan.cloaking_is_enabled, fires=fires)
