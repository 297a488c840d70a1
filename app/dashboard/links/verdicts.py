"""Words for the result of a visit, without technical terms, and for a link that visitors do not get."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

from app.dashboard.shared import rendering
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.links.models import Link
from app.redirects.compiled_link import CompiledLink
from app.redirects.outcomes import Outcome
from app.redirects.request_context import redirect_context
from app.redirects.simulation.explanation import explain, plan_of
from app.redirects.simulation.visitor import VisitorProfile


class Verdict(NamedTuple):
    """The result as a title and a sentence that explains it, with an icon and a tone of the style sheet."""

    title: str
    text: str
    icon: str
    tone: str
    counts: bool = False


VERDICTS: Mapping[str, Verdict] = {
    "redirect": Verdict(
        _l("Redirects to the address below"),
        _l("At once, without an interstitial page."),
        "circle-check",
        "good",
    ),
    "cloak": Verdict(
        _l("Sees the address below in a frame"),
        _l("The short link stays in your address bar."),
        "palette",
        "good",
    ),
    "app": Verdict(
        _l("The app opens"), _l("Visitors without it go to the address below."), "smartphone", "good"
    ),
    "pixels": Verdict(
        _l("Redirects to the address below, past your pixels"),
        _l("They fire within a second, on a page of ours."),
        "radio",
        "good",
    ),
    "consent": Verdict(
        _l("Is asked about pixels first"),
        _l("In either case visitors go to the address below."),
        "radio",
        "info",
    ),
    "preview": Verdict(
        _l("Gets a preview"),
        _l("Bots see the title and the picture, but not the destination."),
        "eye-off",
        "info",
    ),
    "password": Verdict(_l("Is asked for the password"), _l("The destination is not shown."), "lock", "warn"),
    "warning": Verdict(
        _l("Sees the warning page first"), _l("The destination is not shown."), "eye-off", "warn"
    ),
    "confirmation": Verdict(
        _l("Is asked for a tap first"),
        _l("A page with one button, without the destination."),
        "mouse-pointer-click",
        "info",
    ),
    "not_found": Verdict(_l("Not found"), _l("A page says that there is no such link."), "ban", "bad"),
    "not_yet": Verdict(
        _l("Is too early"),
        _l("A page says that the link is not active yet, without the date."),
        "timer",
        "warn",
    ),
    "expired": Verdict(_l("Is too late"), _l("A page says that the link has ended."), "timer", "warn"),
    "limit": Verdict(_l("Is too late"), _l("A page says that the link was used up."), "timer", "warn"),
    "unavailable": Verdict(
        _l("Is asked to try again"), _l("The link can't be opened at the moment."), "timer", "bad"
    ),
}
ELSEWHERE = {
    "expired": Verdict(
        _l("Redirects to the expiration URL"), _l("The link has ended."), "corner-down-right", "warn"
    ),
    "limit": Verdict(
        _l("Redirects to the expiration URL"),
        _l("All clicks of the link are used."),
        "corner-down-right",
        "warn",
    ),
    "not_found": Verdict(
        _l("Redirects to your domain's 404 redirect"),
        _l("There is no page here, and the domain redirects visitors."),
        "corner-down-right",
        "warn",
    ),
}

# the question of each step, worded so that the answer is yes or no
QUESTIONS: Mapping[str, str] = {
    "link": _l("Does the link exist?"),
    "is_enabled": _l("Is the link off?"),
    "start_date": _l("Is it too early?"),
    "end_date": _l("Has it ended?"),
    "clicks_limit": _l("Are all clicks used?"),
    "password": _l("Is there a password?"),
    "sensitive_content": _l("Is there a warning page?"),
    "preview": _l("Are bots kept out of a limited link?"),
    "targeting_type": _l("Does a targeting line match?"),
    "query": _l("Do parameters change the address?"),
    "confirmation": _l("Is a tap asked for?"),
    "delivery": _l("How is the destination delivered?"),
}


def verdict_on(outcome: Outcome, *, is_bot: bool) -> Verdict:
    table = ELSEWHERE if outcome.location and outcome.outcome in ELSEWHERE else VERDICTS
    return table[outcome.outcome]._replace(counts=outcome.counts and not is_bot)


# --- a link that visitors do not get at the moment: off, not active yet, over, or not served


# outcomes before any page or destination of the link, and whether the link is to open later
CLOSED = {"not_found": True, "not_yet": True, "expired": False, "limit": False}


class Standing(NamedTuple):
    """What visitors get at the moment instead of the link. `location`: where they are sent, "" for a page.

    `comes`: whether it is only not active yet, so that a preview of what comes makes sense.
    """

    title: str
    text: str
    location: str
    comes: bool


STANDING_TITLES: Mapping[str, str] = {
    "not_found": _l("This link is off."),
    "not_yet": _l("This link is not active yet."),
    "expired": _l("This link has ended."),
    "limit": _l("All clicks of this link are used."),
}
STANDING_PAGES: Mapping[str, str] = {
    "not_found": _l("At the moment visitors get the “not found” page (404)."),
    "not_yet": _l("Until it starts, visitors get a page that says so (404)."),
    "expired": _l("At the moment visitors get the “expired” page (410)."),
    "limit": _l("At the moment visitors get the “expired” page (410)."),
}
STANDING_ELSEWHERE: Mapping[str, str] = {
    "not_found": _l("At the moment visitors are sent to the domain's 404 redirect:"),
    "expired": _l("At the moment visitors are sent to the expiration URL:"),
    "limit": _l("At the moment visitors are sent to the expiration URL:"),
}
DOMAIN = _l("Its domain is not verified, or is turned off.")


def standing(outcome: Outcome, compiled_link: CompiledLink | None) -> Standing | None:
    """What is to be said of this outcome of a visit; None where visitors get the link.

    `compiled_link` is None where the link's domain serves nothing.
    """
    name = outcome.outcome
    if name not in CLOSED:
        return None
    location = outcome.location or ""
    title = STANDING_TITLES[name] if compiled_link else DOMAIN
    text = str(STANDING_ELSEWHERE[name] if location else STANDING_PAGES[name])
    if name == "not_yet" and compiled_link and compiled_link.start_date:
        text = _(
            "Until %(start)s visitors get a page that says so (404).", start=when(compiled_link.start_date)
        )
    return Standing(str(title), text, location, CLOSED[name] and compiled_link is not None)


def when(moment: dt.datetime) -> str:
    return rendering.full_local_time(moment, rendering.owner_zone())


def standing_of(link: Link) -> Standing | None:
    """The same for a link as it is stored now."""
    context = redirect_context()
    return standing(explain(context, link, VisitorProfile()).outcome, plan_of(context, link))
